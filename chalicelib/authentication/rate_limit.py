"""Limit how often an account may call, with a token bucket in this process (spec 8, 429).

A bucket holds at most ``RATE_LIMIT_BURST`` requests and gains ``RATE_LIMIT_PER_SECOND``. It limits
what one account takes of a server that answers many accounts: the local runtime, a container. On
AWS each Lambda process answers one request at a time and has a bucket of its own, so there API
Gateway's throttling limits a caller; its 429 has the same body.
"""

from __future__ import annotations

import threading

from chalicelib.core import caches, clock
from chalicelib.core.errors import TooManyRequests
from chalicelib.core.settings import settings

_MOST_ACCOUNTS = 10_000

_buckets: dict[int, tuple[float, float]] = {}  # account → requests left, at which time
_lock = threading.Lock()


def take(account_id: int) -> None:
    """Take one request out of the account's bucket; raises 429 when it is empty."""
    gain, most = settings().rate_limit_per_second, settings().rate_limit_burst
    if gain <= 0:
        return
    now = clock.now()
    with _lock:
        if len(_buckets) >= _MOST_ACCOUNTS:
            _buckets.clear()
        tokens, since = _buckets.get(account_id, (float(most), now))
        tokens = min(float(most), tokens + max(0.0, now - since) * gain)
        if tokens >= 1:
            _buckets[account_id] = (tokens - 1, now)
            return
        _buckets[account_id] = (tokens, now)
    raise TooManyRequests


@caches.register
def clear_cache() -> None:
    """Fill all buckets."""
    with _lock:
        _buckets.clear()
