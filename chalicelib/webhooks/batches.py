"""The batches of a webhook: how posting each went, and its bytes, for a day (spec 2.10, 6.4).

Access patterns (table ``webhooks``):

- the batches of a webhook, newest first → ``pk = webhook#<id>``, ``sk`` between ``batch#`` and
  ``batch#~``
- one batch → ``sk = batch#<batch id>``; ids grow with time
- its bytes, for posting it again → with the item when they are few, else in the bucket under
  ``webhooks/<id>/<batch id>``

A batch is recorded after its first attempt; before that its queue message is all there is.
Messages come twice and in any order, so a record gives way only to a later attempt, and a delivery
to nothing but a redelivery (``round``).
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from chalicelib.core import blobs, clock
from chalicelib.core.dynamo import ConditionFailed, Item, Key, Table
from chalicelib.core.settings import settings

_table = Table("webhooks")
_PREFIX = "batch#"
_INLINE_BYTES = 4000


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch after an attempt. ``attempts`` are those that failed, ``latency`` is milliseconds.

    ``response_code`` is ``None`` where there was no response; then ``failure_code`` says why.
    """

    webhook_id: str
    batch_id: str
    size: int
    at_ms: int
    attempts: int = 0
    response_code: int | None = None
    failure_code: str = ""
    latency: int = 0
    delivered: bool = False
    round: int = 0

    def as_json(self) -> dict[str, Any]:
        """Return the batch status object."""
        code = self.response_code
        return {
            "webhook_id": self.webhook_id,
            "batch_id": self.batch_id,
            "batch_size": self.size,
            "ts": clock.iso_offset(self.at_ms // 1000),
            "attempts": self.attempts,
            "response_code": None if code is None else str(code),
            "failure_code": self.failure_code or None,
            "latency": self.latency,
        }


_FIELDS = tuple(Batch.__slots__)
_NOTED = tuple(name for name in _FIELDS if name not in ("webhook_id", "batch_id"))


def key_of(webhook_id: str, batch_id: str) -> Key:
    """Return where a batch is kept."""
    return (f"webhook#{webhook_id}", f"{_PREFIX}{batch_id}")


def from_item(item: Item) -> Batch:
    """Return the batch that an item of the table holds."""
    return Batch(**{name: item[name] for name in _FIELDS})


def newest(webhook_id: str, limit: int) -> list[Batch]:
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
    # One that was tried for hours, or asked for again, is kept longer than those that came after it
    return [from_item(item) for item in islice(filter(_is_kept, items), limit)]


def record(batch: Batch, body: bytes | None) -> bool:
    """Note an attempt, and the batch's bytes unless ``None``; ``False`` if a later one is noted."""
    values = {name: getattr(batch, name) for name in _NOTED}
    values["expires"] = batch.at_ms // 1000 + settings().webhook_batch_retention
    if body is not None:
        values |= _kept(batch, body)
    names = {"webhook_id": batch.webhook_id, "batch_id": batch.batch_id} | values
    earlier = "#attempts <= :attempts AND " if not batch.delivered else ""
    try:
        _table.update(
            *key_of(batch.webhook_id, batch.batch_id),
            "SET " + ", ".join(f"#{name} = :{name}" for name in names),
            values=names | {"no": False},
            condition="attribute_not_exists(#pk) OR #round < :round OR "
            f"({earlier}#delivered = :no AND #round = :round)",
        )
    except ConditionFailed:
        return False
    return True


def anew(webhook_id: str, batch_id: str) -> tuple[Batch, bytes] | None:
    """Return a batch as it begins anew, with its bytes, or ``None`` if it is not kept any more.

    Once that is recorded, attempts of earlier rounds are over.
    """
    item = _table.get(*key_of(webhook_id, batch_id))
    if item is None or not _is_kept(item):
        return None
    try:
        body = _bytes_of(item)
    except blobs.BlobMissing:
        return None
    begun = {"round": item["round"] + 1, "attempts": 0, "delivered": False}
    return replace(from_item(item), at_ms=clock.now_ms(), **begun), body


def _is_kept(item: Mapping[str, Any]) -> bool:
    return item["expires"] > clock.now()  # the table removes what has expired within days


def _kept(batch: Batch, body: bytes) -> Item:
    """Keep the bytes; return the attributes that say where."""
    packed = zlib.compress(body, 6)
    if len(packed) <= _INLINE_BYTES:
        return {"data": packed}
    blob = f"webhooks/{batch.webhook_id}/{batch.batch_id}"
    blobs.put(blob, packed)
    return {"blob": blob}


def _bytes_of(item: Mapping[str, Any]) -> bytes:
    packed = item.get("data")
    return zlib.decompress(packed if packed is not None else blobs.get(item["blob"]))
