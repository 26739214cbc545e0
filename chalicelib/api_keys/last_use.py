"""Note in which hour an API key was last used: one write an hour for each key.

The request itself makes the write, in the first use of an hour. A thread would not get it done on
Lambda, where a process stands still between two requests, and one write an hour is not worth one.

- A key that is in the cache has its former hour there, so this process remembers what it wrote.
- A write that fails is not tried again in the same hour, and the request goes on.
- Two processes may both write; the condition of the write keeps the later hour.
"""

from __future__ import annotations

import logging
import threading
from typing import Final

from botocore.exceptions import BotoCoreError, ClientError

from chalicelib.api_keys import store
from chalicelib.api_keys.model import ApiKey
from chalicelib.core import caches, clock

HOUR: Final = 3600
_MOST_KEYS: Final = 10_000

_log = logging.getLogger(__name__)
_hours: dict[str, int] = {}  # hash of the key → the last hour that this process wrote
_lock = threading.Lock()


def note(key: ApiKey) -> None:
    """Store that ``key`` is used now, unless this hour is stored already."""
    hour = int(clock.now()) // HOUR * HOUR
    if key.last_used is not None and key.last_used >= hour:
        return
    if not _is_first(key.key_id, hour):
        return
    try:
        store.note_use(key.key_id, hour)
    except (BotoCoreError, ClientError):
        _log.warning("the last use of API key %s was not stored", key.id, exc_info=True)


@caches.register
def clear_cache() -> None:
    """Forget which hours were written."""
    with _lock:
        _hours.clear()


def _is_first(key_id: str, hour: int) -> bool:
    """Remember ``hour``; tell whether this process has not written it yet."""
    if _hours.get(key_id, -1) >= hour:
        return False
    with _lock:
        if _hours.get(key_id, -1) >= hour:
            return False
        if len(_hours) >= _MOST_KEYS:
            _hours.clear()
        _hours[key_id] = hour
    return True
