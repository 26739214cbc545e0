"""Record the events of a lone send at once, in the worker that delivered it.

Events wait on their queue for others, because events that are recorded together share writes. A
send that comes after a lull has nobody to share with. The queue would only add its requests and a
function call to it, so its worker does what the consumer of the queue would do.

- The queue message of the send is not deleted before that, and its outcome is recorded. A worker
  that dies is followed by one that finds the outcome and emits the same events.
- Where the outcome is recorded in a table, the request that records it stores the events as well.
- If recording fails, the events go to the queue, whose consumer tries again.
- Events may be recorded twice in this way and are counted once, as always (``deduplication``).
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from math import inf

from chalicelib.core import caches, clock
from chalicelib.core.dynamo import TableItem
from chalicelib.core.message_event import Event
from chalicelib.core.settings import settings
from chalicelib.delivery.reports import Reports
from chalicelib.events import service, stream
from chalicelib.recording.worker import record

_log = logging.getLogger(__name__)

#: Seconds without a send that count as a lull at least, even where events wait for no others
SHORTEST_LULL = 1.0
# More events than these share writes among themselves, and would keep a small function busy
_MOST_EVENTS = 10

_lock = threading.Lock()
_last_send = -inf


def ends_lull() -> bool:
    """Note a send; tell whether it is this process's first one for as long as events wait."""
    global _last_send
    now = clock.monotonic()
    with _lock:
        pause, _last_send = now - _last_send, now
    return pause > max(SHORTEST_LULL, settings().events_window)


class LoneReports(Reports):
    """The reports of a unit that is sent alone, after a lull."""

    def __init__(self) -> None:
        self._stored_ids: frozenset[str] = frozenset()

    def store(self, events: Sequence[Event], record: TableItem) -> bool:
        """Store the record of an outcome and its events in one request; ``False`` if that fails."""
        try:
            service.put_all(events, along=[record])
        except Exception:  # the outcome must not be lost because of the events
            _log.warning("an outcome is recorded without its events", exc_info=True)
            return False
        self._stored_ids = frozenset(event["event_id"] for event in events)
        return True

    def emit(self, events: Sequence[Event]) -> None:
        """Record a few events, or put them on the queue if that fails or if they are many."""
        if len(events) <= _MOST_EVENTS:
            try:
                record(
                    events, are_stored=self._stored_ids.issuperset(e["event_id"] for e in events)
                )
            except Exception:
                _log.warning("events that could not be recorded at once are queued", exc_info=True)
            else:
                return
        stream.emit(events)


@caches.register
def forget_sends() -> None:
    """Forget the last send (tests go back in time)."""
    global _last_send
    _last_send = -inf
