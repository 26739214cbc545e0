"""In a container, the service listens where it may and names what its users see."""

from __future__ import annotations

from pathlib import Path

import pytest

from infrastructure.local.supervisor.data_folder import ConfigError
from infrastructure.machine import config_file, container

DOMAIN = "mail.acme.example"
ENVIRON = {"SYSTEM_DOMAIN": DOMAIN, config_file.VARIABLE: "/dev/null"}


@pytest.mark.parametrize(
    ("environ", "url"),
    [
        ({}, f"https://{DOMAIN}"),
        ({"TLS": "off"}, f"http://{DOMAIN}"),
        ({"TLS": "off", "TRUSTED_PROXIES": "10.0.0.1"}, f"https://{DOMAIN}"),
        ({"PUBLIC_URL": "https://api.acme.example"}, "https://api.acme.example"),
    ],
)
def test_links_name_the_usual_ports_and_not_those_inside(environ: dict[str, str], url: str) -> None:
    values = container.settings(ENVIRON | environ)
    assert values == container.PORTS | {"PUBLIC_URL": url, "TRACKING_PORT": "80"}


def test_ports_that_are_set_are_the_same_inside_and_outside() -> None:
    values = container.settings(ENVIRON | {"HTTPS_PORT": "4433", "HTTP_PORT": "8880"})
    assert not values.keys() & {"HTTPS_PORT", "HTTP_PORT"}
    assert values["PUBLIC_URL"] == f"https://{DOMAIN}:4433"
    assert values["TRACKING_PORT"] == "8880"


def test_the_configuration_file_counts_as_well(tmp_path: Path) -> None:
    path = tmp_path / "postfinch.toml"
    config_file.write(path, {"system_domain": DOMAIN, "https_port": "443"})
    values = container.settings({config_file.VARIABLE: str(path)})
    assert "HTTPS_PORT" not in values
    assert values["SUBMISSION_PORT"] == container.PORTS["SUBMISSION_PORT"]
    assert values["PUBLIC_URL"] == f"https://{DOMAIN}"


def test_a_setting_that_cannot_be_is_refused() -> None:
    with pytest.raises(ConfigError, match="TLS='none'"):
        container.settings(ENVIRON | {"TLS": "none"})
