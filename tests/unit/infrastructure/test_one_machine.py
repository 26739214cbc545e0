"""Check that the Compose file of production on one machine agrees with the image and its page."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from infrastructure.machine import config_file, container, systemd_unit
from infrastructure.machine.settings import MachineSettings

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "infrastructure" / "one-machine"
EXAMPLE = (FOLDER / "example.env").read_text()
USUAL_PORTS = {name: str(getattr(MachineSettings(), name.lower())) for name in container.PORTS}


class Loader(yaml.SafeLoader):
    """Reads the tag of Compose that takes values away."""


Loader.add_constructor("!reset", lambda loader, node: [])


def service(name: str) -> dict[str, Any]:
    # The loader is a safe one
    document = yaml.load((FOLDER / name).read_text(), Loader)
    values: dict[str, Any] = document["services"]["postfinch"]
    return values


SERVICE = service("compose.yaml")


def test_the_usual_ports_lead_to_those_of_the_container() -> None:
    assert set(SERVICE["ports"]) == {
        f"{USUAL_PORTS[name]}:{port}" for name, port in container.PORTS.items()
    }


def test_with_the_network_of_the_machine_the_ports_are_the_usual_ones() -> None:
    variant = service("host-network.yaml")
    assert variant["ports"] == []
    assert variant["environment"] == USUAL_PORTS


def test_it_has_few_privileges_and_as_much_time_to_end_as_under_systemd() -> None:
    assert SERVICE["read_only"] is True
    assert SERVICE["cap_drop"] == ["ALL"]
    assert SERVICE["security_opt"] == ["no-new-privileges:true"]
    assert SERVICE["stop_grace_period"] == f"{systemd_unit.STOP_SECONDS // 60}m"


@pytest.mark.parametrize("line", EXAMPLE.splitlines())
def test_each_line_of_the_example_is_a_setting_that_the_page_shows(line: str) -> None:
    assert line.partition("=")[0].lower() in config_file.NAMES
    assert f"\n{line}\n" in (ROOT / "docs" / "one-machine.md").read_text()


def test_the_compose_file_asks_for_lines_of_the_example_only() -> None:
    names = re.findall(r"\$\{(\w+):\?", (FOLDER / "compose.yaml").read_text())
    assert set(names) <= {line.partition("=")[0] for line in EXAMPLE.splitlines()}
