"""Provide a move between two small places."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from moto import mock_aws

from tests.unit.infrastructure.machine.moving.places import Move


@pytest.fixture
def move(tmp_path: Path) -> Iterator[Move]:
    with mock_aws():
        yield Move(tmp_path)
