"""Run the programs of this directory as their users would, and skip those that are missing."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.journey.service import KEY

HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Ports:
    """The ports of the running service, and the file of the authority that signed for it."""

    api_tls: int
    smtp: int
    smtp_tls: int
    authority: str


def trust(ports: Ports) -> dict[str, str]:
    """Return the environment in which programs trust the service's certificate."""
    names = ("REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "AUTHORITY")
    return dict(os.environ) | dict.fromkeys(names, ports.authority)


def api_environment(ports: Ports, **values: str) -> dict[str, str]:
    """Return the environment of a client of the HTTP API."""
    url = f"https://localhost:{ports.api_tls}"
    return trust(ports) | {"POSTFINCH_URL": url, "API_KEY": KEY} | values


def smtp_environment(ports: Ports, tls: str, **values: str) -> dict[str, str]:
    """Return the environment of a client of the SMTP relay; ``tls`` is starttls or implicit."""
    port = ports.smtp_tls if tls == "implicit" else ports.smtp
    address = {"SMTP_HOST": "localhost", "SMTP_PORT": str(port), "SMTP_TLS": tls}
    return trust(ports) | address | {"API_KEY": KEY} | values


def run(
    *command: str, env: dict[str, str], folder: Path = HERE
) -> subprocess.CompletedProcess[str]:
    """Run a program of ``folder``."""
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=120)


def require(program: str, package: str) -> None:
    """Skip the test if a program is missing, and name the Debian package that has it."""
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed (apt-get install {package})")


def require_library(*command: str, package: str) -> None:
    """Skip the test if a command that loads a library fails."""
    require(command[0], package)
    process = subprocess.run(command, capture_output=True, text=True)
    if process.returncode:
        pytest.skip(f"{command[-1]!r} fails (apt-get install {package})")
