"""An installation whose settings and DNS each test sets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from chalicelib.core.settings import settings
from infrastructure.machine.checks import installation
from infrastructure.machine.checks.finding import Finding
from infrastructure.machine.checks.installation import Installation
from tests.unit.zones import Zone, served_zone

DOMAIN = "mail.acme.example"

#: Makes an installation with further settings
Installing = Callable[..., Installation]


def by_check(results: list[Finding]) -> dict[str, Finding]:
    """Return findings by the name of their check."""
    return {finding.check: finding for finding in results}


@pytest.fixture
def zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[Zone]:
    yield from served_zone(monkeypatch)


@pytest.fixture
def install(zone: Zone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Installing:
    """Apply settings to this process as the checks do, and return the installation."""
    monkeypatch.setenv("POSTFINCH_CONFIG", "/dev/null")

    def make(**more: str) -> Installation:
        import os

        environ = {
            "SYSTEM_DOMAIN": DOMAIN,
            "DATA_DIR": str(tmp_path / "data"),
            "POSTFINCH_CONFIG": "/dev/null",
            "DNS_SERVERS": os.environ["DNS_SERVERS"],
            "DNS_LIFETIME": "2",
            **more,
        }
        subject, values = installation.read(environ)
        for name, text in values.items():
            monkeypatch.setenv(name, text)
        settings.cache_clear()
        return subject

    return make
