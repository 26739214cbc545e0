"""Replace the service's clock by one that a test moves."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from chalicelib.core import clock


class Clock:
    """Tell ``now``, in seconds since the epoch, until a test changes it.

    With a ``step``, every reading is that much later than the one before it.
    """

    def __init__(self, now: float, *, step: float = 0.0) -> None:
        self.now = now
        self._step = step

    def __call__(self) -> float:
        """Read the clock."""
        self.now += self._step
        return self.now

    @property
    def now_ms(self) -> int:
        """The time in milliseconds since the epoch."""
        return round(self.now * 1000)

    @now_ms.setter
    def now_ms(self, now_ms: int) -> None:
        self.now = now_ms / 1000

    def passes(self, seconds: float) -> None:
        """Let so much time pass."""
        self.now += seconds


@contextmanager
def moving_clock(now: float, *, step: float = 0.0) -> Iterator[Clock]:
    """Let the service read a clock that starts at ``now``."""
    moving = Clock(now, step=step)
    with clock.use(moving):
        yield moving
