"""The way of an event from where it happens to the ``events`` queue, and off it again."""

from __future__ import annotations

import json
from collections.abc import Sequence

from chalicelib.core import queues
from chalicelib.core.queues import Received, Work
from chalicelib.events.model import Event

QUEUE = "events"
_MOST_IN_ONE = 400


def emit(events: Sequence[Event]) -> None:
    """Put events on the queue, many to a message; returns when the queue holds them all."""
    groups = [events[i : i + _MOST_IN_ONE] for i in range(0, len(events), _MOST_IN_ONE)]
    queues.send(QUEUE, [Work({"count": len(group)}, _encode(group)) for group in groups])


def decode(message: Received) -> list[Event]:
    """Return the events of one queue message."""
    return json.loads(message.payload().decode("utf-8", "surrogatepass"))


def _encode(events: Sequence[Event]) -> bytes:
    text = json.dumps(events, separators=(",", ":"), ensure_ascii=False)
    return text.encode("utf-8", "surrogatepass")
