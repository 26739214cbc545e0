"""Put events on the ``events`` queue, and read them off it."""

from __future__ import annotations

from collections.abc import Sequence

from chalicelib.core import compact_json, queues
from chalicelib.core.message_event import Event
from chalicelib.core.queues import Received, Work
from chalicelib.core.typed_dicts import TypedDict

QUEUE = "events"
_MOST_IN_MESSAGE = 400


class EventsHead(TypedDict):
    """The head of a message with events: how many it holds."""

    count: int


def emit(events: Sequence[Event], *, delay: float = 0.0) -> None:
    """Put events on the queue, up to 400 in a message; return when the queue holds all of them.

    They are recorded after ``delay`` seconds.
    """
    groups = [events[i : i + _MOST_IN_MESSAGE] for i in range(0, len(events), _MOST_IN_MESSAGE)]
    queues.send(QUEUE, [_work(group, delay) for group in groups])


def decode(message: Received[EventsHead]) -> list[Event]:
    """Return the events of one queue message."""
    events: list[Event] = compact_json.loads(message.payload())
    return events


def _work(events: Sequence[Event], delay: float) -> Work[EventsHead]:
    accounts = {event["customer_id"] for event in events}
    tenant = int(accounts.pop()) if len(accounts) == 1 else 0
    return Work({"count": len(events)}, compact_json.dumps(events), delay, tenant)
