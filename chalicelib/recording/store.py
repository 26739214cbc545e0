"""Keep deduplication records, and the times of events that a message has once.

Access patterns of ``messages``:

- the record of a hundred recipients of a transmission → ``transmission#<transmission id>#<block>``
  / ``ledger#<block, 8 digits>`` (100 records a request; ``core.message_keys``)
- the record of a message from outside → ``messages#<account>#<digest of the message id>`` /
  ``ledger``
- the first event of those that a message has once → ``transmission#<transmission id>`` /
  ``reported#<event id>``

A record is written on the condition that it is still as it was read (``version``). It expires with
the context of its messages.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable
from typing import Any, NotRequired

from chalicelib.core import clock, dynamo, message_keys
from chalicelib.core.dynamo import ConditionFailed, Key, Keyed, Table, Write
from chalicelib.core.message_event import Event
from chalicelib.core.reading import Read
from chalicelib.core.settings import settings
from chalicelib.recording.deduplication import (
    BLOCK,
    DIGEST_BYTES,
    MOST_EVENTS,
    DeduplicationRecord,
    digest,
    recipient_index,
    subject,
)


class DeduplicationItem(Keyed):
    """A deduplication record: the fields of ``DeduplicationRecord``."""

    #: The record's revision
    version: int
    #: The digests of events that were recorded, one behind the other
    known: bytes
    #: Compressed JSON
    marks: NotRequired[bytes]
    #: Compressed JSON
    routes: NotRequired[bytes]
    expires: int


class FirstEventItem(Keyed):
    """The first event of those that a message has once."""

    #: Its time, in ms
    at: int
    expires: int


table: Table[DeduplicationItem] = Table("messages")
_first_events: Table[FirstEventItem] = Table("messages")


def key_of(event: Event) -> Key:
    """Return the key of the record that an event belongs to."""
    index = recipient_index(event)
    if index is not None:
        block = index // BLOCK
        return message_keys.block_partition(event["transmission_id"], block), f"ledger#{block:08d}"
    return f"messages#{event['customer_id']}#{digest(subject(event)).hex()}", "ledger"


def time_of_first(event: Event) -> int:
    """Return the time of the first event with this id, which is its own time if there was none."""
    item: FirstEventItem = {
        "pk": f"transmission#{event['transmission_id']}",
        "sk": f"reported#{event['event_id']}",
        "at": event["timestamp"],
        "expires": int(clock.now()) + settings().messages_retention,
    }
    try:
        _first_events.create(item)
    except ConditionFailed as conflict:
        item = conflict.item or item
    return int(item["at"])


def read_now(keys: Iterable[Key]) -> dict[Key, DeduplicationItem]:
    """Read items of the table consistently."""
    items = table.get_all(dict.fromkeys(keys), consistent=True)
    return {(item["pk"], item["sk"]): item for item in items}


def read(keys: Iterable[Key], read: Read = read_now) -> dict[Key, DeduplicationRecord]:
    """Return the records at these keys, empty ones where none is stored."""
    keys = list(dict.fromkeys(keys))
    records = {key: _from_item(item) for key, item in read(keys).items()}
    return {key: records.get(key) or DeduplicationRecord(key) for key in keys}


def write(record: DeduplicationRecord) -> Write:
    """Return the action that stores a record if it is still as it was read."""
    pk, sk = record.key
    item: DeduplicationItem = {
        "pk": pk,
        "sk": sk,
        "version": record.revision + 1,
        "known": b"".join(list(record.digests)[-MOST_EVENTS:]),
        "expires": int(clock.now()) + settings().messages_retention,
    }
    if record.marks:
        item["marks"] = _compressed(record.marks)
    if record.routes:
        item["routes"] = _compressed(record.routes)
    return dynamo.put(table, item, **dynamo.if_unchanged("version", record.revision or None))


def _from_item(item: DeduplicationItem) -> DeduplicationRecord:
    digests = item["known"]
    return DeduplicationRecord(
        (item["pk"], item["sk"]),
        item["version"],
        {digests[i : i + DIGEST_BYTES]: None for i in range(0, len(digests), DIGEST_BYTES)},
        _decompressed(item.get("marks")),
        _decompressed(item.get("routes")),
    )


def _compressed(value: object) -> bytes:
    return zlib.compress(json.dumps(value, separators=(",", ":")).encode(), 6)


def _decompressed(data: bytes | None) -> Any:
    return json.loads(zlib.decompress(data)) if data else {}
