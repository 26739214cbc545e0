"""Find the webhooks that an account's events go to, cached for a few seconds.

Events come in many small groups, and most accounts have the same webhooks from one to the next. A
change takes effect within ``WEBHOOK_CACHE_SECONDS``.
"""

from __future__ import annotations

import threading
from typing import Final

from chalicelib.core import caches, clock
from chalicelib.core.settings import settings
from chalicelib.webhooks.model import Webhook
from chalicelib.webhooks.store import webhooks as webhook_store

_MOST_CACHED: Final = 5000

_cache: dict[int, tuple[float, list[Webhook]]] = {}
_lock = threading.Lock()


def collecting(account_id: int) -> list[Webhook]:
    """Return the account's webhooks that new events go to."""
    now_ms = clock.now_ms()
    return [webhook for webhook in _of_account(account_id) if webhook.collects(now_ms)]


@caches.register
def clear_cache() -> None:
    """Forget the cached webhooks."""
    with _lock:
        _cache.clear()


def _of_account(account_id: int) -> list[Webhook]:
    now = clock.now()
    with _lock:
        until, webhooks = _cache.get(account_id, (0.0, []))
    if now < until:
        return webhooks
    webhooks = webhook_store.of_account(account_id)
    with _lock:
        if len(_cache) >= _MOST_CACHED:
            _cache.clear()
        _cache[account_id] = (now + settings().webhook_cache_seconds, webhooks)
    return webhooks
