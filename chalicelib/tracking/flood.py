"""Count the visits of each link in this process, and tell when there are too many.

One reader, a few machines and the people to whom a message is forwarded follow its links. A link
that is followed hundreds of times a minute is under attack, and each visit would cost an event.
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
    """Count a visit; tell whether the link had more visits in this minute than it may have."""
    global _window
    most = settings().tracking_visits_per_minute
    if not most:
        return False
    minute = int(clock.now() / _WINDOW)
    tag = token[-16:]  # the tag alone identifies a token that was verified
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
