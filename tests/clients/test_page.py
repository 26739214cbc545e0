"""The table of clients in the documentation names the programs and versions that are run."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.clients.programs import HERE
from tests.journey.service import ROOT

PAGE = (ROOT / "docs" / "clients.md").read_text(encoding="utf-8")
_ROW = re.compile(
    r"^\| `([\w.-]+)`[^|]*\| (PyPI|npm|Debian) ([\d.]+) \| \[[^]]*\]\(([^)]+)\)", re.M
)


class Row(NamedTuple):
    """One client of the page."""

    package: str
    registry: str
    version: str
    program: str


ROWS = [Row(*groups) for groups in _ROW.findall(PAGE)]


def pinned() -> set[tuple[str, str, str]]:
    """Return the pinned packages: registry, name and version. One may be there in two versions."""
    requirements = (ROOT / "requirements-dev.txt").read_text(encoding="utf-8")
    python = dict(re.findall(r"^([\w.-]+)==(\S+)$", requirements, re.M))
    node: dict[str, str] = {}
    for folder in ("node", "node_imap"):
        file = HERE / folder / "package.json"
        node |= json.loads(file.read_text(encoding="utf-8"))["dependencies"]
    aliases = [text.removeprefix("npm:").split("@") for text in node.values() if "@" in text]
    plain = [(name, version) for name, version in node.items() if "@" not in version]
    return {("PyPI", *pin) for pin in python.items()} | {
        ("npm", name, version) for name, version in [*plain, *aliases]
    }


def test_the_page_has_the_pinned_versions() -> None:
    rows = {(row.registry, row.package, row.version) for row in ROWS if row.registry != "Debian"}
    assert rows <= pinned()
    assert {row for row in rows if row[0] == "npm"} == {
        each for each in pinned() if each[0] == "npm"
    }


@pytest.mark.parametrize("row", [row for row in ROWS if row.registry == "Debian"])
def test_the_page_has_the_versions_of_debian(row: Row) -> None:
    release = Path("/etc/os-release")
    if not (release.exists() and 'VERSION_ID="12"' in release.read_text() and shutil.which("dpkg")):
        pytest.skip("this is not Debian 12, whose versions the page has")
    query = ["dpkg-query", "--show", "--showformat=${Version}", row.package]
    process = subprocess.run(query, capture_output=True, text=True)
    if process.returncode:
        pytest.skip(f"{row.package} is not installed (apt-get install {row.package})")
    assert process.stdout.partition(":")[2].startswith(row.version) or process.stdout.startswith(
        row.version
    )


def test_the_page_leads_to_every_program() -> None:
    programs = {
        *HERE.glob("*/send.*"),
        *HERE.glob("node*/*.mjs"),
        HERE / "anymail" / "app.py",
        HERE / "mailpit_php" / "client.php",
        HERE / "php_http" / "client.php",
        HERE / "postfix" / "main.cf",
        HERE.parent / "container" / "mailpit_of_testcontainers.py",
        HERE / "test_mail_readers.py",
        HERE / "test_mailpit_clients.py",
        HERE / "test_python_sparkpost.py",
    }
    assert {(ROOT / "docs" / row.program).resolve() for row in ROWS} == programs
