"""The time at which these tests' messages come back."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from chalicelib.core import clock
from tests.unit.inbound.examples import MADE


class Time:
    """The clock of one test."""

    def __init__(self) -> None:
        self.now_ms = MADE + 60_000

    def passes(self, seconds: float) -> None:
        self.now_ms += int(seconds * 1000)


@pytest.fixture
def time() -> Iterator[Time]:
    """Let it be a minute after the message was made."""
    given = Time()
    with clock.use(lambda: given.now_ms / 1000):
        yield given
