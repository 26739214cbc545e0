"""Put events on the ``events`` queue, and read them off it."""

from __future__ import annotations

import json
from collections.abc import Sequence

from chalicelib.core import queues
from chalicelib.core.queues import Received, Work
from chalicelib.events.model import Event

QUEUE = "events"
_MOST_IN_MESSAGE = 400


def emit(events: Sequence[Event]) -> None:
    """Put events on the queue, up to 400 in a message; return when the queue holds all of them."""
    groups = [events[i : i + _MOST_IN_MESSAGE] for i in range(0, len(events), _MOST_IN_MESSAGE)]
    queues.send(QUEUE, [Work({"count": len(group)}, _encode(group)) for group in groups])


def decode(message: Received) -> list[Event]:
    """Return the events of one queue message."""
    return json.loads(message.payload().decode("utf-8", "surrogatepass"))


def _encode(events: Sequence[Event]) -> bytes:
    text = json.dumps(events, separators=(",", ":"), ensure_ascii=False)
    return text.encode("utf-8", "surrogatepass")
