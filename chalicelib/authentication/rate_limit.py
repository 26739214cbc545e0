"""How often an account may ask: a budget of requests in this process's memory (spec 8, 429).

A budget holds at most ``RATE_LIMIT_BURST`` requests and gains ``RATE_LIMIT_PER_SECOND``. It bounds
what one account takes of a server that answers many: the local runtime, a container. On AWS each
Lambda process answers one request at a time and has a budget of its own, so that there it is the
throttling of API Gateway's stage that bounds a caller; its 429 has the same body.
"""

from __future__ import annotations

import threading

from chalicelib.core import caches, clock
from chalicelib.core.errors import TooManyRequests
from chalicelib.core.settings import settings

_MOST_ACCOUNTS = 10_000

_budgets: dict[int, tuple[float, float]] = {}  # account → requests left, at which time
_lock = threading.Lock()


def take(account_id: int) -> None:
    """Take one request out of the account's budget; raises 429 when none is left."""
    gain, most = settings().rate_limit_per_second, settings().rate_limit_burst
    if gain <= 0:
        return
    now = clock.now()
    with _lock:
        if len(_budgets) >= _MOST_ACCOUNTS:
            _budgets.clear()
        left, since = _budgets.get(account_id, (float(most), now))
        left = min(float(most), left + max(0.0, now - since) * gain)
        if left >= 1:
            _budgets[account_id] = (left - 1, now)
            return
        _budgets[account_id] = (left, now)
    raise TooManyRequests


@caches.register
def clear_cache() -> None:
    """Forget all budgets: each is full again."""
    with _lock:
        _budgets.clear()
