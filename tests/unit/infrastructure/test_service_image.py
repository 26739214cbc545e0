"""Check that the image of the local service, its examples and its page agree with the code."""

from __future__ import annotations

import re
import tomllib
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
import yaml

from infrastructure.local.supervisor.environment import USUAL_INBOUND_PORT
from infrastructure.local.supervisor.ports import USUAL_MAILBOX_PORTS
from infrastructure.machine import container

ROOT = Path(__file__).parents[3]
DOCKERFILE = (ROOT / "Dockerfile").read_text()
INSTRUCTIONS = "\n".join(line for line in DOCKERFILE.splitlines() if not line.startswith("#"))
VARIABLES = dict(re.findall(r"\b([A-Z_]+)=(\S+)", INSTRUCTIONS))
COPIED = re.findall(r"^COPY (?!--from)(.+) \S+$", INSTRUCTIONS, re.MULTILINE)
SOURCES = [source for sources in COPIED for source in sources.split()]
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "examples/compose/compose.yaml").read_text())
PAGE = (ROOT / "docs" / "container.md").read_text()


def test_the_image_has_all_code_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    # Only `postfinch deploy` reads the configuration of Chalice
    code = {*wheel["packages"], *wheel["force-include"]} - {".chalice/config.json"}
    assert code <= set(SOURCES)


@pytest.mark.parametrize("path", SOURCES)
def test_what_is_copied_exists_and_is_not_ignored(path: str) -> None:
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    admitted = [line[1:] for line in lines if line.startswith("!")]
    assert (ROOT / path).exists()
    assert any(fnmatch(path, name) or path.startswith(f"{name}/") for name in admitted)


def test_the_exposed_ports_are_those_that_the_service_binds() -> None:
    (exposed,) = re.findall(r"^EXPOSE (.*)$", INSTRUCTIONS, re.MULTILINE)
    ports = {VARIABLES[f"{name}_PORT"] for name in ("API", "API_TLS", "SMTP", "SMTP_TLS")}
    ports.add(str(USUAL_INBOUND_PORT))
    ports |= set(map(str, USUAL_MAILBOX_PORTS.variables().values()))
    assert set(exposed.split()) == ports | set(container.PORTS.values())
    assert all(f"| {port} |" in PAGE for port in ports)


def test_nothing_depends_on_an_architecture() -> None:
    assert not re.search(r"amd64|arm64|x86|aarch64|TARGETARCH|--platform", INSTRUCTIONS)


def test_the_page_tells_the_values_of_the_image() -> None:
    rows = re.findall(r"^\| `([A-Z_]+)` \| `([^`]+)` \|", PAGE, re.MULTILINE)
    values = {name: value for name, value in rows if name in VARIABLES}
    assert values.keys() == {"LOCAL_NAMES", "LOCAL_PEERS", "LOG_OUTPUT", "DATA_DIR"}
    assert values == {name: VARIABLES[name] for name in values}


def test_the_compose_example_uses_the_image_as_it_is() -> None:
    service, app = COMPOSE["services"]["postfinch"], COMPOSE["services"]["app"]
    inner_ports = {mapping.rpartition(":")[2] for mapping in service["ports"]}
    assert inner_ports == {VARIABLES["API_PORT"], VARIABLES["SMTP_PORT"]}
    assert service["volumes"] == [f"postfinch:{VARIABLES['DATA_DIR']}"]
    assert service["read_only"] is True
    assert app["depends_on"]["postfinch"]["condition"] == "service_healthy"
    assert "postfinch" in VARIABLES["LOCAL_NAMES"].split(",")
    program = (ROOT / "examples" / "compose" / "app.py").read_text()
    assert set(re.findall(r'environ\["(\w+)"\]', program)) <= set(app["environment"])
