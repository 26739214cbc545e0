"""Who gets an account's events: its webhooks, remembered by this process for a few seconds.

Events come in many small lots, and most accounts have the same webhooks from one to the next. A
change takes effect within ``WEBHOOK_CACHE_SECONDS``.
"""

from __future__ import annotations

import threading
from typing import Final

from chalicelib.core import caches, clock
from chalicelib.core.settings import settings
from chalicelib.webhooks import store
from chalicelib.webhooks.model import Webhook

_MOST_REMEMBERED: Final = 5000

_remembered: dict[int, tuple[float, list[Webhook]]] = {}
_lock = threading.Lock()


def collecting(account_id: int) -> list[Webhook]:
    """Return the account's webhooks that new events go to."""
    now_ms = clock.now_ms()
    return [each for each in _of_account(account_id) if each.collects(now_ms)]


@caches.register
def clear_cache() -> None:
    """Forget everything."""
    with _lock:
        _remembered.clear()


def _of_account(account_id: int) -> list[Webhook]:
    now = clock.now()
    with _lock:
        until, found = _remembered.get(account_id, (0.0, []))
    if now < until:
        return found
    found = store.of_account(account_id)
    with _lock:
        if len(_remembered) >= _MOST_REMEMBERED:
            _remembered.clear()
        _remembered[account_id] = (now + settings().webhook_cache_seconds, found)
    return found
