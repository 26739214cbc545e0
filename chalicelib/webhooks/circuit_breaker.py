"""Decide whether a webhook's target may be posted to, by how it has answered lately.

Each webhook has a circuit breaker:

- *closed*: its batches are posted.
- *open*: the target did not answer in good time, so nothing is posted until ``open_until_ms``. A
  clock that is set back does not prolong that.
- *half-open*: that time is over; one batch is posted, and any answer in good time closes the
  breaker again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from chalicelib.core.retry import Backoff
from chalicelib.core.settings import settings

CLOSED: Final = "closed"
OPEN: Final = "open"
HALF_OPEN: Final = "half-open"

#: Seconds by which the clocks of two machines may differ
_CLOCK_DIFFERENCE: Final = 5.0


@dataclass(frozen=True, slots=True)
class CircuitBreaker:
    """The breaker of one webhook, and when its target last took and last failed a batch.

    Times are in milliseconds, 0 for never. ``timeouts`` counts the posts in a row that the target
    did not answer in good time.
    """

    success_ms: int = 0
    failure_ms: int = 0
    timeouts: int = 0
    open_until_ms: int = 0

    def state(self, now: float) -> str:
        """Return whether the breaker is closed, open or half-open at ``now`` (seconds)."""
        if not self.timeouts:
            return CLOSED
        # A time that is further away was set before the clock was set back
        rest = self.open_until_ms / 1000 - now
        return OPEN if 0 < rest <= _longest_open_seconds() + _CLOCK_DIFFERENCE else HALF_OPEN

    def open_seconds(self, took: float) -> float:
        """Return for how long a post that failed after ``took`` seconds opens the breaker."""
        backoff = Backoff(2 * took, cap_seconds=settings().webhook_pause)
        return backoff.delay(self.timeouts + 1)


def claim_seconds() -> float:
    """Return for how many seconds the worker that claims a half-open breaker posts alone."""
    return 2 * settings().webhook_timeout + 10


def _longest_open_seconds() -> float:
    return max(settings().webhook_pause, claim_seconds())
