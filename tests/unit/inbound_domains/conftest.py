from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.unit.zones import Zone, served_zone


@pytest.fixture
def zone(cloud: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Zone]:
    """A DNS server whose records the test sets."""
    yield from served_zone(monkeypatch)
