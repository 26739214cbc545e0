"""Schedule the next attempt of a batch that its target did not take (spec 6.3).

The second attempt comes after ``base`` seconds, the last at ``expiry``, and the delays between grow
by a constant factor. Each delay is changed at random by up to a tenth, so that batches that failed
together do not come back together. A target may ask for more time (Retry-After, RFC 9110 10.2.3),
up to an hour.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime
from functools import cache
from typing import Final

from chalicelib.core.retry import Backoff, RetryPolicy

LONGEST_RETRY_AFTER: Final = 3600.0
#: Shorter delays (seconds) are rounded: SQS rounds them up, so one of a second might become two
_SHORT: Final = 5.0


@dataclass(frozen=True, slots=True)
class Schedule:
    """How often a batch is posted until ``expiry``; ``base`` and ``expiry`` are in seconds."""

    base: float
    attempts: int
    expiry: float

    def next_wait(
        self, attempts: int, elapsed: float, seed: str, retry_after: float = 0.0
    ) -> float | None:
        """Return the seconds until the next attempt, or ``None`` when there is none.

        ``attempts`` counts the failed attempts, ``elapsed`` is the batch's age in seconds, ``seed``
        is the batch's id.
        """
        remaining = self.expiry - elapsed
        if attempts >= self.attempts or remaining <= 0:
            return None
        if attempts == self.attempts - 1:
            return remaining
        wait = _policy(self).next_delay(attempts, elapsed, seed) or 0.0
        if wait < _SHORT:
            wait = float(round(wait))
        return min(max(wait, min(retry_after, LONGEST_RETRY_AFTER)), remaining)


def retry_after(headers: Mapping[str, str], now: float) -> float:
    """Return the seconds that a response's Retry-After asks for, 0 without one."""
    text = headers.get("retry-after", "").strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        moment = parsedate_to_datetime(text)
    except (TypeError, ValueError, OverflowError):
        return 0.0
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, aware.timestamp() - now)


@cache
def _policy(schedule: Schedule) -> RetryPolicy:
    expiry = schedule.expiry
    backoff = Backoff(schedule.base, _factor(schedule), cap_seconds=expiry, jitter=0.1)
    return RetryPolicy(backoff, expiry)


def _factor(schedule: Schedule) -> float:
    """Return the growth factor with which the delays between attempts add up to the expiry."""
    base, expiry = schedule.base, schedule.expiry
    low, high = 1.0, max(2.0, expiry / max(base, 1.0))
    for _ in range(60):
        middle = (low + high) / 2
        if sum(base * middle**n for n in range(schedule.attempts - 1)) < expiry:
            low = middle
        else:
            high = middle
    return low
