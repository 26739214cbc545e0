"""Make events as the service makes them, and record them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from chalicelib.core import dynamo, ids
from chalicelib.core.message_event import Event
from chalicelib.events import service
from chalicelib.events.model import Sender, make_event, recipient_fields
from chalicelib.metrics.delta import Delta
from chalicelib.metrics.store import pending

#: 2026-01-31 09:00:00 UTC, the beginning of an hour
NINE = 1_769_850_000_000
HOUR = 3_600_000

TRANSMISSION = "191930000000000001"


def event_at(
    at_ms: int,
    index: int = 0,
    kind: str = "delivery",
    recipient: str = "ann@example.test",
    account: int = 1,
    **fields: Any,
) -> Event:
    """Return an event of message ``index`` at ``at_ms``; equal arguments give the same event."""
    sender = Sender(account, None, TRANSMISSION, "rest")
    base = sender.fields() | recipient_fields(recipient, metadata={"k": "é"}, tags=["t"])
    base["message_id"] = ids.message_id(TRANSMISSION, index)
    return make_event(kind, base, at_ms, **fields)


def record(events: Sequence[Event]) -> None:
    """Store events and count them, as recording does with new events."""
    service.put_all(events)
    deltas: dict[int, Delta] = defaultdict(Delta)
    for event in events:
        deltas[int(event["customer_id"])].add(event)
    for account_id, delta in deltas.items():
        if delta:
            dynamo.transact(pending.additions(account_id, delta))
