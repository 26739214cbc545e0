"""Give each test a machine with an HTTPS server, and an authority that checks it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.certificates.machine import Machine, running_machine
from tests.certificates.pebble import Pebble, run_pebble


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    """A data directory whose certificates a running server shows."""
    with running_machine(tmp_path / "data") as machine:
        yield machine


@pytest.fixture
def pebble(machine: Machine, tmp_path: Path) -> Iterator[Pebble]:
    """An authority that checks names at the machine. It refuses some nonces, as Pebble does."""
    require_pebble()
    with run_pebble(tmp_path / "pebble", machine.http_port) as pebble:
        yield pebble


def require_pebble() -> None:
    if shutil.which("pebble") is None:
        pytest.skip("pebble is not installed (apt-get install pebble)")
