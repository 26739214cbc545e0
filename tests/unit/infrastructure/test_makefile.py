from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.unit.infrastructure.clouds import ROOT

# When make runs these tests, the inner make otherwise prints the directories that it enters
QUIETLY = ("--no-print-directory",)


def test_help_is_the_default_and_lists_every_target() -> None:
    output = subprocess.run(
        ["make", *QUIETLY], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    phony = re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert phony is not None
    assert re.findall(r"^  make ([a-z-]+) +\S", output, re.MULTILINE) == phony[1].split()


@pytest.mark.parametrize("target", ["run", "docs", "deploy", "deploy-local"])
def test_targets_for_users_install_no_packages_for_tests(target: str) -> None:
    rule = re.search(rf"^{target}: (\S+)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert rule is not None
    assert rule[1] == ".venv/.local-stamp"


def test_make_run_replaces_the_shell_so_that_signals_reach_the_supervisor() -> None:
    command = subprocess.run(
        ["make", *QUIETLY, "--dry-run", "run"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()[-1]
    assert command.startswith("exec ")
    assert "--stop-with-parent" in command


@pytest.mark.parametrize(
    ("docker_status", "command"),
    [
        (0, "docker build -t me/mail --pull ."),
        (1, "podman build --format docker -t me/mail --pull ."),
    ],
)
def test_an_image_is_built_by_a_program_that_can(
    tmp_path: Path, docker_status: int, command: str
) -> None:
    docker = f'[ "$1" != info ] || exit {docker_status}\necho docker "$@"\n'
    for name, program in (("docker", docker), ("podman", 'echo podman "$@"\n')):
        (tmp_path / name).write_text(f"#!/bin/sh\n{program}")
        (tmp_path / name).chmod(0o755)
    output = subprocess.run(
        ["make", *QUIETLY, "image", "IMAGE=me/mail", "OPTIONS=--pull"],
        cwd=ROOT,
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert output.strip() == command
