"""Remember which events were recorded, which were the first of their kind, and how messages left.

SQS redelivers events, and then in different batches. So recording recognises events, not queue
messages. One deduplication record is kept for each block of a hundred recipients of a transmission,
and for each message from outside. It is written in the transaction that counts the events, after
all other steps: an event that a record knows is recorded completely, and an event that it does not
know has not been counted.

- A record knows an event by six bytes of the digest of its id. Even a full record takes fewer than
  one new event in ten billion for a recorded one.
- A full record forgets the oldest events. Only opens and clicks can be so many, and SQS has long
  stopped redelivering the oldest of them.
- The marks of a message are bounded as well, so a record always fits an item.
- A recipient's opens and clicks come from a link that was made before the message was sent. So a
  record also remembers by which address and IP pool each message was delivered.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from chalicelib.core import ids, message_keys
from chalicelib.core.dynamo import Key
from chalicelib.core.message_event import Event, RouteFields
from chalicelib.events.model import route_fields
from chalicelib.metrics.model import RAW_CLICK

#: Recipients of a transmission that share a record
BLOCK: Final = message_keys.BLOCK
MOST_EVENTS: Final = 5_000
#: Marks of a message. No more links are noted beyond that: scanners follow all there are.
MOST_MARKS: Final = 200
DIGEST_BYTES: Final = 6

_FIRST_TYPES = frozenset(
    ("injection", "policy_rejection", "generation_failure", "generation_rejection")
)


@dataclass(slots=True)
class DeduplicationRecord:
    """The recorded events of one block; ``revision`` is 0 while nothing is stored."""

    key: Key
    revision: int = 0
    digests: dict[bytes, None] = field(default_factory=dict)
    marks: dict[str, list[str]] = field(default_factory=dict)
    routes: dict[str, int] = field(default_factory=dict)
    """By address and pool as JSON: one bit for each message of the block that left by them."""

    def knows(self, event: Event) -> bool:
        """Tell whether the event has been recorded."""
        return digest(event["event_id"]) in self.digests

    def add(self, event: Event, marks: Sequence[str]) -> list[str]:
        """Note that the event is recorded; return those ``marks`` that are new for its message."""
        self.digests[digest(event["event_id"])] = None
        self.add_route(event)
        if not marks:
            return []
        message_marks = self.marks.setdefault(subject(event), [])
        new = [mark for mark in marks if mark not in message_marks]
        if len(message_marks) + len(new) > MOST_MARKS:
            new = [mark for mark in new if not mark.startswith(RAW_CLICK)]
        message_marks.extend(new)
        return new

    def add_route(self, event: Event) -> None:
        """Note how the message of a delivery left."""
        index = recipient_index(event)
        if event["type"] == "delivery" and index is not None:
            route = json.dumps(route_fields(event))
            self.routes[route] = self.routes.get(route, 0) | 1 << index % BLOCK

    def route_of(self, event: Event) -> RouteFields:
        """Return ``sending_ip`` and ``ip_pool`` of the message's delivery, if it is recorded."""
        index = recipient_index(event)
        if index is None:
            return {}
        bit = 1 << index % BLOCK
        routes = (route for route, messages in self.routes.items() if messages & bit)
        return json.loads(next(routes, "{}"))


def begins_block(event: Event) -> bool:
    """Tell whether the event is the first one of a block's first recipient.

    No event of the block is normally recorded before it.
    """
    index = recipient_index(event)
    return index is not None and index % BLOCK == 0 and event["type"] in _FIRST_TYPES


def recipient_index(event: Event) -> int | None:
    """Return the index of the recipient, ``None`` for a message from outside."""
    if "rcpt_index" in event:
        return int(event["rcpt_index"])
    try:
        transmission, index = ids.transmission_of(event.get("message_id", ""))
    except ValueError:
        return None
    return index if transmission == event.get("transmission_id") else None


def subject(event: Event) -> str:
    """Return the message that marks belong to, by its short name within its block."""
    index = recipient_index(event)
    return str(index % BLOCK) if index is not None else event.get("message_id") or event["event_id"]


def digest(text: str) -> bytes:
    """Return the digest by which a record knows an event."""
    octets = text.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(octets, digest_size=DIGEST_BYTES).digest()
