"""Ledgers: which events have been recorded, what they were the first of, how messages left.

Queue messages come twice, and in other company, so it is not queue messages but events that are
told apart. A ledger is kept for each block of a hundred recipients of a transmission. It is written
in the transaction that counts the events, on the condition that it is still as it was read, after
everything else was done with them: what a ledger knows has been recorded wholly, and what it does
not know has not been counted.

Access patterns (table ``messages``):

- the ledgers of some blocks → ``pk = transmission#<id>``, ``sk = ledger#<block, 8 digits>``;
  a hundred in one request
- those of messages that were not made here, one each →
  ``pk = messages#<account>#<digest of the message id>``, ``sk = ledger``

An event is known by six bytes of the digest of its id: even of a full ledger, not one event in ten
milliards is taken for a known one. A ledger that is full forgets the oldest events. Only opens and
clicks can be so many, and the oldest are long off the queue. The marks of a message are bounded as
well, so that a ledger always fits an item.

What a recipient does with a message is told long after, by a link that was made before the message
had a way out. So the ledger also keeps by which address and pool each message was delivered.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from chalicelib.core import clock, dynamo, ids
from chalicelib.core.dynamo import Item, Key, Table, Write
from chalicelib.core.reading import Read
from chalicelib.core.settings import settings
from chalicelib.metrics.model import RAW_CLICK

Event = Mapping[str, Any]

BLOCK: Final = 100
MOST_KNOWN: Final = 5_000
MOST_MARKS: Final = 200
"""Marks of a message, beyond which no more links are noted: scanners follow all there are."""

_DIGEST = 6
_ROUTE = ("sending_ip", "ip_pool")

_FIRST_TYPES = frozenset(
    ("injection", "policy_rejection", "generation_failure", "generation_rejection")
)

table = Table("messages")


@dataclass(slots=True)
class DeduplicationRecord:
    """What is known of one block; ``version`` is 0 when nothing is stored yet."""

    key: Key
    version: int = 0
    known: dict[bytes, None] = field(default_factory=dict)
    marks: dict[str, list[str]] = field(default_factory=dict)
    routes: dict[str, int] = field(default_factory=dict)
    """By address and pool as JSON: one bit for each message of the block that left so."""

    def knows(self, event: Event) -> bool:
        """Tell whether the event has been recorded."""
        return _digest(event["event_id"]) in self.known

    def note(self, event: Event, marks: Sequence[str]) -> list[str]:
        """Take the event for recorded; return those of ``marks`` that its message did not have."""
        self.known[_digest(event["event_id"])] = None
        self.note_route(event)
        if not marks:
            return []
        before = self.marks.setdefault(_subject(event), [])
        new = [mark for mark in marks if mark not in before]
        if len(before) + len(new) > MOST_MARKS:
            new = [mark for mark in new if not mark.startswith(RAW_CLICK)]
        before.extend(new)
        return new

    def note_route(self, event: Event) -> None:
        """Keep how the message of a delivery left."""
        index = _index(event)
        if event["type"] == "delivery" and index is not None:
            route = json.dumps({name: event[name] for name in _ROUTE if name in event})
            self.routes[route] = self.routes.get(route, 0) | 1 << index % BLOCK

    def route_of(self, event: Event) -> dict[str, str]:
        """Return ``sending_ip`` and ``ip_pool`` of the message's delivery, if it is known."""
        index = _index(event)
        if index is None:
            return {}
        bit = 1 << index % BLOCK
        found = (route for route, messages in self.routes.items() if messages & bit)
        return json.loads(next(found, "{}"))

    def write(self) -> Write:
        """Return the action that stores the ledger if it is still as it was read."""
        pk, sk = self.key
        item: Item = {
            "pk": pk,
            "sk": sk,
            "version": self.version + 1,
            "known": b"".join(list(self.known)[-MOST_KNOWN:]),
            "expires": int(clock.now()) + settings().messages_retention,
        }
        for name in ("marks", "routes"):
            if noted := getattr(self, name):
                text = json.dumps(noted, separators=(",", ":"))
                item[name] = zlib.compress(text.encode(), 6)
        if self.version:
            condition, values = "#version = :seen", {"seen": self.version}
            return dynamo.put(table, item, condition=condition, values=values)
        return dynamo.put(table, item, condition="attribute_not_exists(#pk)")


def read_now(keys: Iterable[Key]) -> dict[Key, Item]:
    """Read items of the table as they are now, a hundred in one request."""
    found = table.get_all(dict.fromkeys(keys), consistent=True)
    return {(item["pk"], item["sk"]): item for item in found}


def read(keys: Iterable[Key], read: Read = read_now) -> dict[Key, DeduplicationRecord]:
    """Return the ledgers of these blocks, empty ones where there are none."""
    wanted = list(dict.fromkeys(keys))
    stored = {key: _from_item(item) for key, item in read(wanted).items()}
    return {key: stored.get(key) or DeduplicationRecord(key) for key in wanted}


def key_of(event: Event) -> Key:
    """Return the block that an event belongs to."""
    index = _index(event)
    if index is not None:
        return f"transmission#{event['transmission_id']}", f"ledger#{index // BLOCK:08d}"
    return f"messages#{event['customer_id']}#{_digest(_subject(event)).hex()}", "ledger"


def begins_block(event: Event) -> bool:
    """Tell whether no event of the same block can be expected to come before this one.

    It is the first of the block's first recipient.
    """
    index = _index(event)
    return index is not None and index % BLOCK == 0 and event["type"] in _FIRST_TYPES


def _index(event: Event) -> int | None:
    """Return the index of the recipient, ``None`` if the message was not made here."""
    if "rcpt_index" in event:
        return int(event["rcpt_index"])
    try:
        transmission, index = ids.transmission_of(event.get("message_id", ""))
    except ValueError:
        return None
    return index if transmission == event.get("transmission_id") else None


def _subject(event: Event) -> str:
    """Return what the event's marks belong to: its message, which has a short name in its block."""
    index = _index(event)
    return str(index % BLOCK) if index is not None else event.get("message_id") or event["event_id"]


def _digest(text: str) -> bytes:
    octets = text.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(octets, digest_size=_DIGEST).digest()


def _unpacked(packed: bytes | None) -> Any:
    return json.loads(zlib.decompress(packed)) if packed else {}


def _from_item(item: Item) -> DeduplicationRecord:
    known = item["known"]
    return DeduplicationRecord(
        (item["pk"], item["sk"]),
        item["version"],
        {known[i : i + _DIGEST]: None for i in range(0, len(known), _DIGEST)},
        _unpacked(item.get("marks")),
        _unpacked(item.get("routes")),
    )
