from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.unit.zones import Zone, served_zone


@pytest.fixture
def zone(cloud: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Zone]:
    """Yield a DNS whose records the test sets."""
    monkeypatch.setenv("ALLOW_PRIVATE_ADDRESSES", "true")
    yield from served_zone(monkeypatch)
