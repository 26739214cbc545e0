"""Fixtures of traffic shaping."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from chalicelib.delivery.shaping import groups
from tests.unit.zones import Zone, served_zone


@pytest.fixture
def zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[Zone]:
    """Ask an empty zone; groups of other tests are forgotten."""
    groups.clear_cache()
    yield from served_zone(monkeypatch)
    groups.clear_cache()
