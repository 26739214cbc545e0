"""The time at which these tests' messages come back."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.unit.inbound.examples import MADE
from tests.unit.moving_clock import Clock, moving_clock


@pytest.fixture
def time() -> Iterator[Clock]:
    """Let it be a minute after the message was made."""
    with moving_clock(MADE / 1000 + 60) as moving:
        yield moving
