"""Generated pages are current, and the links and files that pages name exist."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import chalicelib
from infrastructure.docs import JOURNEY_PICTURES
from infrastructure.journey_picture import THEMES, draw
from tests.unit.calling import Client

ROOT = Path(__file__).parents[2]
PAGES = [
    *ROOT.glob("*.md"),
    *(ROOT / "docs").rglob("*.md"),
    *(ROOT / "examples").rglob("*.md"),
]

_LINK = re.compile(r"\]\(([^)#\s]*)(#[^)\s]+)?\)")
# Not those that begin with a slash: they are on a reader's machine
_CODE_PATH = re.compile(r"`(?!/)([\w./-]+/[\w.-]+\.(?:py|yaml|sh|mjs|tsv|md|toml))`")
# A path in a page may be relative to one of these folders
_FOLDERS = (ROOT, ROOT / "chalicelib", ROOT / "infrastructure", ROOT / "tests")


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {
        "#" + re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")
        for heading in headings
    }


def links(page: Path) -> Iterator[tuple[Path, str]]:
    """Yield the file and the anchor of each link of a page that stays in the project."""
    for target, anchor in _LINK.findall(page.read_text(encoding="utf-8")):
        if "://" not in target:
            yield (page.parent / target if target else page), anchor


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files_and_headings_that_exist(page: Path) -> None:
    for target, anchor in links(page):
        assert target.exists(), target
        if anchor:
            assert anchor in anchors(target), f"{target.name}{anchor}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_files_named_in_a_page_exist(page: Path) -> None:
    for path in _CODE_PATH.findall(page.read_text(encoding="utf-8")):
        assert any((folder / path).exists() for folder in _FOLDERS), path


@pytest.mark.parametrize("theme", THEMES)
def test_the_pictures_of_the_journey_are_current(theme: str) -> None:
    picture = JOURNEY_PICTURES[theme].read_text(encoding="utf-8")
    assert picture == draw(THEMES[theme]), "run `make docs`"


def test_the_service_the_package_and_the_changelog_have_one_version() -> None:
    response = Client("").get("/api/v1")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    latest = re.search(r"^## (\d\S+)", changelog, re.MULTILINE)
    assert response.status == 200
    assert response.body == {"results": {"name": "Postfinch", "version": chalicelib.__version__}}
    assert project["version"] == chalicelib.__version__
    assert latest
    assert latest[1] == chalicelib.__version__
