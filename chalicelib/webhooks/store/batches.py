"""Store how posting each batch of a webhook went, and its bytes, for a day (spec 2.10, 6.4).

The batches of a relay webhook are received messages. They are kept for ten days, without their
bytes, which are made again of the message.

Access patterns of ``webhooks``:

- the batches of a webhook, newest first → ``webhook#<webhook id>`` / ``batch#*``
- one batch, with its bytes → ``webhook#<webhook id>`` / ``batch#<batch id>`` (ids grow with time)

The item holds the bytes when they are few; otherwise the bucket holds them under
``webhooks/<webhook id>/<batch id>``. A batch is recorded after its first attempt; before that only
its queue message exists. Messages may be redelivered and in any order, so only a later attempt
replaces a record, and only a redelivery (``round``) replaces a delivered batch.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from itertools import islice
from typing import Any, NotRequired, cast

from chalicelib.core import audit, blobs, clock, dynamo
from chalicelib.core.dynamo import Key, Keyed, Table, TransactionFailed, Write, attributes_of
from chalicelib.core.settings import settings
from chalicelib.webhooks import attempts
from chalicelib.webhooks.model import WebhookBatch


class WebhookBatchItem(Keyed):
    """A batch after its last attempt: the fields of ``WebhookBatch``, and its bytes."""

    webhook_id: str
    batch_id: str
    size: int
    at_ms: int
    attempts: int
    response_code: int | None
    failure_code: str
    #: In ms
    latency: int
    delivered: bool
    round: int
    answer: NotRequired[str]
    earlier: NotRequired[bytes]
    #: The compressed bytes of the batch, or the object of the bucket that holds them; those of a
    #: relay webhook are not stored
    data: NotRequired[bytes]
    blob: NotRequired[str]
    expires: int


_table: Table[WebhookBatchItem] = Table("webhooks")
_PREFIX = "batch#"
_INLINE_BYTES = 4000
_FIELDS = tuple(WebhookBatch.__slots__)
#: Fields that are stored only if they hold something; version 0.1.0 did not have them
_OPTIONAL_FIELDS = ("answer", "earlier")
_REQUIRED_FIELDS = frozenset(_FIELDS) - frozenset(_OPTIONAL_FIELDS)


def key_of(webhook_id: str, batch_id: str) -> Key:
    """Return the key of a batch."""
    return (f"webhook#{webhook_id}", f"{_PREFIX}{batch_id}")


def from_item(item: WebhookBatchItem) -> WebhookBatch:
    """Return the batch in an item of the table."""
    return WebhookBatch(**attributes_of(item, _FIELDS))


def newest(webhook_id: str, limit: int) -> list[WebhookBatch]:
    """Return the latest batches of a webhook, newest first."""
    pk, low = key_of(webhook_id, "")
    _, high = key_of(webhook_id, "~")
    items = _table.query_all(
        "#pk = :pk AND #sk BETWEEN :low AND :high",
        {"pk": pk, "low": low, "high": high},
        newest_first=True,
        limit=limit,
        consistent=True,
    )
    # A batch that was tried for hours, or redelivered, expires later than batches created after it
    return [from_item(item) for item in islice(filter(_is_current, items), limit)]


def record(
    batch: WebhookBatch,
    body: bytes | None,
    lines: Sequence[Write] = (),
    *,
    retention: int | None = None,
) -> bool:
    """Record an attempt, and the batch's bytes unless ``None``, with ``lines`` of the audit log.

    The record is kept for ``retention`` seconds, by default as long as batches of events are.
    Returns ``False`` if a later attempt is already on record.
    """
    names = _values(batch, settings().webhook_batch_retention if retention is None else retention)
    empty = [name for name in _OPTIONAL_FIELDS if name not in names]
    if body is not None:
        names |= _store_body(batch, body)
    earlier = "#attempts <= :attempts AND " if not batch.delivered else ""
    update = dynamo.update(
        _table,
        *key_of(batch.webhook_id, batch.batch_id),
        "SET " + ", ".join(f"#{name} = :{name}" for name in names) + _removal(empty),
        values=names | {"no": False},
        condition="attribute_not_exists(#pk) OR #round < :round OR "
        f"({earlier}#delivered = :no AND #round = :round)",
    )
    try:
        audit.commit(update, lines)
    except TransactionFailed:
        return False
    return True


def record_new(records: Sequence[tuple[WebhookBatch, int]]) -> None:
    """Record first attempts that succeeded, with their retention in seconds, 25 a request.

    The batches have no bytes. Unlike :func:`record` this replaces what is there.
    """
    items = [
        cast(WebhookBatchItem, {**_keys(batch), **_values(batch, retention)})
        for batch, retention in records
    ]
    if items:
        _table.write_all(items)


def find(webhook_id: str, batch_id: str) -> tuple[WebhookBatch, bytes | None] | None:
    """Return a batch, and its bytes if the record holds them; ``None`` if it has expired."""
    item = _table.get(*key_of(webhook_id, batch_id), consistent=True)
    if item is None or not _is_current(item):
        return None
    try:
        return from_item(item), _body_of(item)
    except blobs.BlobMissing:
        return None


def next_round(batch: WebhookBatch) -> WebhookBatch:
    """Return a batch as its redelivery begins.

    Recording that batch ends the attempts of earlier rounds, whose failures go on counting.
    """
    return WebhookBatch(
        batch.webhook_id,
        batch.batch_id,
        batch.size,
        clock.now_ms(),
        attempts=batch.attempts,
        round=batch.round + 1,
        earlier=attempts.pack(attempts.history(batch)),
    )


def _keys(batch: WebhookBatch) -> Keyed:
    pk, sk = key_of(batch.webhook_id, batch.batch_id)
    return {"pk": pk, "sk": sk}


def _values(batch: WebhookBatch, retention: int) -> dict[str, Any]:
    """Return the attributes of a batch but its keys and bytes, without optional ones."""
    values = {name: getattr(batch, name) for name in _FIELDS}
    values = {name: value for name, value in values.items() if value or name in _REQUIRED_FIELDS}
    return values | {"expires": batch.at_ms // 1000 + retention}


def _removal(names: Sequence[str]) -> str:
    return " REMOVE " + ", ".join(f"#{name}" for name in names) if names else ""


def _is_current(item: WebhookBatchItem) -> bool:
    return item["expires"] > clock.now()  # DynamoDB removes expired items within days


def _store_body(batch: WebhookBatch, body: bytes) -> dict[str, Any]:
    """Store large bytes in the bucket; return the attributes that hold the bytes or their place."""
    compressed = zlib.compress(body, 6)
    if len(compressed) <= _INLINE_BYTES:
        return {"data": compressed}
    blob = f"webhooks/{batch.webhook_id}/{batch.batch_id}"
    blobs.put(blob, compressed)
    return {"blob": blob}


def _body_of(item: WebhookBatchItem) -> bytes | None:
    compressed = item.get("data")
    if compressed is None and "blob" in item:
        compressed = blobs.get(item["blob"])
    return None if compressed is None else zlib.decompress(compressed)
