"""Check that the package names what the service needs, in versions that it was tried with."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

from packaging.requirements import Requirement

import chalicelib
import postfinch
from postfinch.testing.test_account import OPTIONS

ROOT = Path(__file__).parents[3]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def _pins(name: str) -> dict[str, str]:
    """Return the pinned version of each package in a file and in those that it includes."""
    pins: dict[str, str] = {}
    for line in (ROOT / name).read_text(encoding="utf-8").splitlines():
        if line.startswith("# What these need"):
            break
        if line.startswith("-r "):
            pins |= _pins(line.removeprefix("-r "))
        elif match := re.match(r"([\w.-]+)(?:\[\w+\])?==([\w.]+)", line):
            pins[match[1].lower()] = match[2]
    return pins


def test_the_package_needs_what_the_local_service_needs_in_ranges_with_the_pinned_version() -> None:
    needed = {
        requirement.name.lower(): requirement
        for requirement in map(Requirement, PROJECT["project"]["dependencies"])
    }
    pins = _pins("requirements-local.txt")
    # What is used directly by a requirement's own name, but pinned with those that it comes with
    assert set(pins) - set(needed) == set()
    for name, version in pins.items():
        assert needed[name].specifier.contains(version), name


def test_all_folders_of_the_service_travel_in_the_package() -> None:
    included = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    for name in ("app.py", "chalicelib", "console", "infrastructure", "outbound", "relay"):
        assert included[name] == f"postfinch/service/{name}"


def test_the_version_is_that_of_the_service() -> None:
    assert postfinch.__version__ == chalicelib.__version__


def test_the_fixture_sends_with_the_options_that_the_api_has() -> None:
    description = json.loads((ROOT / "docs/openapi.json").read_text(encoding="utf-8"))
    body = description["paths"]["/api/v1/transmissions"]["post"]["requestBody"]
    properties = body["content"]["application/json"]["schema"]["properties"]
    assert set(properties["options"]["properties"]) == set(OPTIONS)
