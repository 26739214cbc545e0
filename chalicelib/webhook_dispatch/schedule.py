"""When a batch that its target did not take is posted again (spec 6.3).

``WEBHOOK_ATTEMPTS`` in all, which are twelve: the first again after ``WEBHOOK_RETRY_BASE``, the
last when ``WEBHOOK_RETRY_EXPIRY`` is reached, the delays between growing by one factor, each moved
by up to a tenth so that batches that failed together do not come back together. A target may ask
for more time (Retry-After, RFC 9110 10.2.3), within bounds.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime
from functools import cache
from typing import Final

from chalicelib.core.retry import Backoff, RetryPolicy
from chalicelib.core.settings import settings

LONGEST_RETRY_AFTER: Final = 3600.0


def next_wait(failed: int, elapsed: float, seed: str, retry_after: float = 0.0) -> float | None:
    """Return the seconds until the next attempt, or ``None`` when there is none.

    ``failed`` counts the attempts made, ``elapsed`` is the batch's age in seconds, ``seed`` names
    the batch.
    """
    attempts, expiry = settings().webhook_attempts, settings().webhook_retry_expiry
    left = expiry - elapsed
    if failed >= attempts or left <= 0:
        return None
    if failed == attempts - 1:
        return left
    policy = _policy(settings().webhook_retry_base, expiry, attempts)
    wait = policy.next_delay(failed, elapsed, seed)
    return min(max(wait or 0.0, min(retry_after, LONGEST_RETRY_AFTER)), left)


def asked_wait(headers: Mapping[str, str], now: float) -> float:
    """Return the seconds that a response's Retry-After asks for, 0 if it does not."""
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
def _policy(base: float, expiry: float, attempts: int) -> RetryPolicy:
    factor = _factor(base, expiry, attempts)
    return RetryPolicy(Backoff(base, factor, cap_seconds=expiry, jitter=0.1), expiry)


def _factor(base: float, expiry: float, attempts: int) -> float:
    """Return the growth by which the delays between all attempts add up to ``expiry``."""
    low, high = 1.0, max(2.0, expiry / max(base, 1.0))
    for _ in range(60):
        middle = (low + high) / 2
        if sum(base * middle**n for n in range(attempts - 1)) < expiry:
            low = middle
        else:
            high = middle
    return low
