"""Publishing is one workflow that a maintainer switches on, and no page leads with its results."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[3]
WORKFLOW = yaml.safe_load((ROOT / ".github" / "workflows" / "publish.yaml").read_text())
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def steps(job: str) -> list[dict[str, Any]]:
    return WORKFLOW["jobs"][job]["steps"]


def step_with(job: str, action: str) -> dict[str, Any]:
    (step,) = [each for each in steps(job) if each.get("uses", "").startswith(action)]
    return step["with"]


@pytest.mark.parametrize("job", ["package", "image"])
def test_a_job_runs_for_a_release_if_a_variable_says_so(job: str) -> None:
    # YAML 1.1 reads the key `on` as a boolean
    assert WORKFLOW[True] == {"release": {"types": ["published"]}}
    assert re.match(r"vars\.PUBLISH_[A-Z]+ (==|!=) ", WORKFLOW["jobs"][job]["if"])


def test_the_package_is_published_without_a_token_from_where_it_is_built() -> None:
    assert WORKFLOW["jobs"]["package"]["permissions"] == {"id-token": "write"}
    assert {"run": "make wheel"} in steps("package")
    assert "wheel" in TARGETS
    folder = step_with("package", "pypa/gh-action-pypi-publish")["packages-dir"]
    assert f"--wheel-dir {folder}" in (ROOT / "Makefile").read_text()


def test_the_image_is_built_for_both_architectures_from_the_file_that_is_tested() -> None:
    build = step_with("image", "docker/build-push-action")
    assert build["platforms"] == "linux/amd64,linux/arm64"
    assert (ROOT / build["context"] / build["file"]).exists()


def test_contributing_names_each_variable_and_secret() -> None:
    text = (ROOT / ".github" / "workflows" / "publish.yaml").read_text()
    names = set(re.findall(r"(?:vars|secrets)\.(\w+)", text))
    page = (ROOT / "CONTRIBUTING.md").read_text()
    assert names
    assert all(f"`{name}`" in page for name in names)


def test_the_first_commands_of_the_readme_are_those_of_a_checkout() -> None:
    page = (ROOT / "README.md").read_text()
    first, second = re.findall(r"^```\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)[:2]
    assert [line.split()[0] for line in first.splitlines()] == ["git", "cd", "make"]
    assert (first.split()[-1], second) == ("run", "make test\n")
    assert {"run", "test"} <= TARGETS
    published = page.index("When a release is published")
    assert all(page.index(each) > published for each in ("pipx run", "docker run", "pip install"))


def test_the_first_screen_of_the_readme_says_what_production_needs() -> None:
    screen = (ROOT / "README.md").read_text().partition("## Contents")[0]
    assert len(screen.splitlines()) < 45
    for need in ("AWS account", "DNS records", "smarthost", "container host"):
        assert need in screen.partition("There are three ways to run it")[2].replace("\n", " ")
