"""Room in this process for the batches of each webhook: a slow target must leave some to others.

A call of the consumer posts the batches of one webhook side by side, at most ``ABREAST`` at a time,
and for at most ``PATIENCE`` seconds begins new ones. At most ``MOST_CALLS`` calls in one process
are busy with the same webhook: locally a process has several threads for this queue, and on Lambda
one.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

ABREAST: Final = 4
PATIENCE: Final = 5.0
MOST_CALLS: Final = 2

_busy: Counter[str] = Counter()
_lock = threading.Lock()


@contextmanager
def lane(webhook_id: str) -> Iterator[bool]:
    """Enter a lane of the webhook for the block; ``False`` if there is no room."""
    with _lock:
        entered = _busy[webhook_id] < MOST_CALLS
        _busy[webhook_id] += entered
    try:
        yield entered
    finally:
        with _lock:
            _busy[webhook_id] -= entered
            if not _busy[webhook_id]:
                del _busy[webhook_id]
