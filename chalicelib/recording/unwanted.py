"""Opens of recipients who objected to being watched: they are not recorded (spec 2.9)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from chalicelib.core.reading import Read
from chalicelib.events.model import Event
from chalicelib.suppression.model import Recipient
from chalicelib.suppression.store import lookup_items
from chalicelib.tracking.engagement import OPENS


def openers(events: Iterable[Event]) -> set[Recipient]:
    """Return who opened what, by these events."""
    return {_recipient(event) for event in events if event["type"] in OPENS}


def without_unwanted(
    events: Sequence[Event], read: Read = lookup_items.read_eventually
) -> list[Event]:
    """Return the events that may be recorded; a hundred recipients of opens take one request."""
    objecting = lookup_items.suppressing_opens(openers(events), read)
    return [e for e in events if e["type"] not in OPENS or _recipient(e) not in objecting]


def _recipient(event: Event) -> Recipient:
    subaccount = event.get("subaccount_id")
    owner = int(event["customer_id"]), int(subaccount) if subaccount else None
    return Recipient(*owner, event["rcpt_to"])
