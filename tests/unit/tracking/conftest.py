"""The time at which these tests' messages are sent, and the keys that sign their tokens."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from chalicelib.core import clock
from chalicelib.core.caches import clear_caches
from tests.unit.tracking.examples import NINE


@pytest.fixture(autouse=True)
def nine() -> Iterator[None]:
    """Let it be 2026-01-31 09:00:00 UTC."""
    clear_caches()
    with clock.use(lambda: NINE / 1000):
        yield
