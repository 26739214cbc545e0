"""A fixture for inbound mail: the time at which it is received."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.unit.inbound.examples import INJECTED_MS
from tests.unit.moving_clock import Clock, moving_clock


@pytest.fixture
def time() -> Iterator[Clock]:
    """Set the clock to a minute after the message was injected."""
    with moving_clock(INJECTED_MS / 1000 + 60) as moving:
        yield moving
