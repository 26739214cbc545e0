"""Too many visits of one link: counted in this process, without asking anybody.

A link of a message is followed by one reader, a few machines and those it is passed on to. What is
followed hundreds of times a minute is being hammered, and each visit would cost an event.
"""

from __future__ import annotations

import threading
from collections import Counter

from chalicelib.core import caches, clock
from chalicelib.core.settings import settings

_WINDOW = 60.0
_MOST_COUNTED = 100_000

_lock = threading.Lock()
_visits: Counter[str] = Counter()
_window = 0


def is_too_many(token: str) -> bool:
    """Count a visit; tell whether there were more in this minute than a link may have."""
    global _window
    most = settings().tracking_visits_per_minute
    if not most:
        return False
    minute = int(clock.now() / _WINDOW)
    tag = token[-16:]  # as good as the whole, once it is known to be genuine
    with _lock:
        if minute != _window or len(_visits) >= _MOST_COUNTED:
            _visits.clear()
            _window = minute
        _visits[tag] += 1
        return _visits[tag] > most


@caches.register
def clear_cache() -> None:
    """Forget all visits."""
    with _lock:
        _visits.clear()
