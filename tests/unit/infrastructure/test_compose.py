"""Check that the compose file and the Dockerfile agree with each other and with the settings."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import yaml

from chalicelib.core.settings import Settings

ROOT = Path(__file__).parents[3]
SERVICES: dict[str, Any] = yaml.safe_load((ROOT / "infrastructure" / "compose.yaml").read_text())[
    "services"
]
DOCKERFILE = (ROOT / "relay" / "Dockerfile").read_text()
SETTINGS = {setting.name.upper(): setting for setting in fields(Settings)}


@pytest.mark.parametrize("name", ["provision", "relay", "delivery"])
def test_environment_variables_of_a_container_are_settings(name: str) -> None:
    variables = set(SERVICES[name]["environment"]) - {"API_KEY", "PROGRAM"}
    assert {each for each in variables if not each.startswith("AWS_")} <= set(SETTINGS)
    assert "AWS_ENDPOINT_URL" in variables


def test_environment_variables_of_the_image_are_settings() -> None:
    assert set(re.findall(r"(RELAY_[A-Z_]+)=", DOCKERFILE)) <= set(SETTINGS)


@pytest.mark.parametrize("name", ["provision", "relay", "delivery"])
def test_an_image_is_built_from_an_existing_stage(name: str) -> None:
    build = SERVICES[name]["build"]
    dockerfile = ROOT / "infrastructure" / build["context"] / build["dockerfile"]
    assert dockerfile.resolve() == ROOT / "relay" / "Dockerfile"
    assert f" AS {build['target']}\n" in DOCKERFILE
    for argument in build["args"]:
        assert f"ARG {argument}" in DOCKERFILE


def test_published_ports_are_the_ports_that_the_relay_binds() -> None:
    (exposed,) = re.findall(r"^EXPOSE (.*)$", DOCKERFILE, re.MULTILINE)
    container_ports = {mapping.rpartition(":")[2] for mapping in SERVICES["relay"]["ports"]}
    assert container_ports == set(exposed.split())
    assert (
        f"RELAY_PORTS={exposed.split()[0]} RELAY_INBOUND_PORTS={exposed.split()[1]}" in DOCKERFILE
    )


def test_the_relay_has_few_privileges_and_time_to_drain() -> None:
    relay = SERVICES["relay"]
    assert relay["read_only"] is True
    assert relay["cap_drop"] == ["ALL"]
    assert "no-new-privileges:true" in relay["security_opt"]
    grace = int(relay["stop_grace_period"].removesuffix("s"))
    assert grace > SETTINGS["RELAY_DRAIN"].default


def test_the_delivery_container_has_few_privileges_and_waits_for_replies() -> None:
    delivery = SERVICES["delivery"]
    assert delivery["read_only"] is True
    assert delivery["cap_drop"] == ["ALL"]
    assert "no-new-privileges:true" in delivery["security_opt"]
    grace = int(delivery["stop_grace_period"].removesuffix("s"))
    assert (
        grace >= SETTINGS["SMTP_FINAL_TIMEOUT"].default + SETTINGS["SMTP_COMMAND_TIMEOUT"].default
    )


def test_the_relay_pins_the_same_versions_as_the_other_requirements() -> None:
    def pins(name: str) -> dict[str, str]:
        lines = (ROOT / name).read_text().splitlines()
        return dict(line.split("==") for line in lines if "==" in line)

    others = pins("requirements.txt") | pins("requirements-local.txt")
    relay_pins = pins("relay/requirements.txt")
    assert {name: others[name] for name in relay_pins if name in others} == {
        name: version for name, version in relay_pins.items() if name in others
    }
    assert {"boto3", "cryptography", "Jinja2", "pydantic"} <= set(others)
