"""Where transmissions are kept.

Access patterns (table ``transmissions``):

- one transmission → ``pk = transmission#<id>``, ``sk = transmission``
- the transmissions of an account to several recipients, newest first → index ``by_owner``:
  ``owner = account#<id>/transmissions``, ``owner_key = <transmission id>``; those to one, which
  are most and which no list shows, have no owner
- what is scheduled for an account → index ``by_owner``: ``owner = account#<id>/scheduled``; a
  record moves to the list above when it starts
- the recipients of one that starts later → object ``transmissions/<id>/recipients``

The body is one compressed value in the item, or an object of the bucket when it is large. A
request of several chunks is written in the state ``accepting`` and becomes ``submitted`` when all
its chunks are queued: what was only partly accepted is never sent.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256

from chalicelib.accounts.store.usage import Allowance
from chalicelib.core import blobs, caches, clock, dynamo
from chalicelib.core.dynamo import ConditionFailed, Item, Table, TransactionFailed, Write
from chalicelib.core.errors import ApiError
from chalicelib.core.owner_keys import account_partition
from chalicelib.core.settings import settings
from chalicelib.transmissions.model import (
    ACCEPTING,
    CANCELLED,
    GENERATING,
    SUBMITTED,
    Json,
    Transmission,
    unpacked,
)

_transmissions = Table("transmissions")

RETENTION = 30 * 86_400


class NotSubmitted(LookupError):
    """The transmission is unknown, or not all of it has been accepted yet."""


@dataclass(frozen=True, slots=True)
class Record:
    """A transmission with what changes about it. Times are milliseconds."""

    transmission: Transmission
    state: str
    recipients: int
    chunks: int
    chunk_size: int
    list_ref: Json


@dataclass(frozen=True, slots=True)
class Listed:
    """What a list needs of a transmission: the index holds no more."""

    id: str
    subaccount_id: int | None
    campaign_id: str
    description: str
    template_id: str
    draft: bool
    state: str
    recipients: int
    chunks: int


@dataclass(frozen=True, slots=True)
class New:
    """A transmission to be stored. ``list_ref`` names the stored list it is sent to, if any."""

    transmission: Transmission
    packed: bytes
    state: str
    recipients: int
    chunk_size: int
    list_ref: Json | None = None


def put(new: New, meter: Allowance, *, along: Sequence[Write] = ()) -> int:
    """Store a new transmission and count its recipients, both or neither.

    ``along`` are writes that belong to it. Storing the same transmission again changes nothing, so
    that a request that was interrupted can be repeated. Returns the size of its chunks, that of the
    first time. Raises 420 when a limit is exceeded.
    """
    item = _to_item(new)
    record = dynamo.put(_transmissions, item, condition="attribute_not_exists(#pk)")
    try:
        meter.reserve(new.recipients, [record, *along])
    except (TransactionFailed, ApiError):
        # In any state: the request may have been interrupted before all its chunks were queued.
        # And if it was counted, there may be no room for it a second time.
        stored = _transmissions.get(item["pk"], item["sk"])
        if stored is None:
            raise
        return stored["chunk_size"]
    return new.chunk_size


def exists(transmission_id: str) -> bool:
    """Tell whether a transmission is stored, in whatever state."""
    return _transmissions.get(_pk(transmission_id), "transmission") is not None


def commit(transmission_id: str) -> None:
    """Note that all chunks of a transmission are queued."""
    _transmissions.update(
        _pk(transmission_id),
        "transmission",
        "SET #state = :submitted",
        values={"submitted": SUBMITTED, "accepting": ACCEPTING},
        condition="#state IN (:accepting, :submitted)",
    )


def start(record: Record) -> bool:
    """Note that generation starts, with the content and the recipients that count.

    ``False`` if it has started before or was cancelled.
    """
    sent = record.transmission
    values = {
        "recipients": record.recipients,
        "chunks": record.chunks,
        "list_ref": record.list_ref,
    }
    listed = record.recipients > 1
    return _moved(sent, GENERATING, values, found=(SUBMITTED, SUBMITTED), listed=listed)


def cancel(sent: Transmission) -> bool:
    """Note that what has not started is cancelled; ``False`` if it has started."""
    return _moved(sent, CANCELLED, {}, found=(SUBMITTED, CANCELLED), listed=True)


def _moved(
    sent: Transmission, state: str, values: Item, *, found: tuple[str, str], listed: bool
) -> bool:
    values = values | _body(sent.id, sent.packed())
    if listed:
        values["owner"] = _owner(sent.account_id)
    sets = ", ".join(f"#{name} = :{name}" for name in values)
    unlisted = "" if listed else " REMOVE #owner"
    one, other = found
    try:
        _transmissions.update(
            _pk(sent.id),
            "transmission",
            f"SET #state = :state, {sets}{unlisted}",
            values={"state": state, "one": one, "other": other, **values},
            condition="#state IN (:one, :other)",
        )
    except ConditionFailed:
        return False
    return True


def get(transmission_id: str) -> Record | None:
    """Return a transmission that was wholly accepted, ``None`` if there is none."""
    item = _transmissions.get(_pk(transmission_id), "transmission")
    return _record(item) if item and item["state"] != ACCEPTING else None


@lru_cache(maxsize=8)
def get_submitted(transmission_id: str) -> Transmission:
    """Return a transmission whose content is final; raises :class:`NotSubmitted`.

    Only what is asked for by its chunks: they are queued after its content was resolved.
    """
    record = get(transmission_id)
    if record is None or not record.transmission.resolved:
        raise NotSubmitted(transmission_id)
    return record.transmission


caches.register(get_submitted.cache_clear)


def in_account(account_id: int) -> Iterator[Listed]:
    """Yield an account's transmissions: what is scheduled, then those to several, newest first."""
    yield from scheduled(account_id)
    yield from _owned_by(_owner(account_id))


def scheduled(account_id: int) -> Iterator[Listed]:
    """Yield the transmissions of an account that have not started, the newest first."""
    yield from _owned_by(_owner(account_id, scheduled=True))


def _owned_by(owner: str) -> Iterator[Listed]:
    items = _transmissions.query_all(
        "#owner = :owner", {"owner": owner}, index="by_owner", newest_first=True
    )
    for item in items:
        if item["state"] != ACCEPTING:
            fields = {name: item[name] for name in Listed.__slots__ if name != "id"}
            yield Listed(id=item["owner_key"], **fields)


def put_recipients(transmission_id: str, recipients: Sequence[Json]) -> None:
    """Keep the recipients of a transmission that starts later."""
    text = json.dumps(recipients, separators=(",", ":"), ensure_ascii=False)
    packed = zlib.compress(text.encode("utf-8", "surrogatepass"), 1)
    blobs.put(_recipients_key(transmission_id), packed)


def get_recipients(transmission_id: str) -> list[Json]:
    """Return what :func:`put_recipients` was given."""
    text = zlib.decompress(blobs.get(_recipients_key(transmission_id)))
    return json.loads(text.decode("utf-8", "surrogatepass"))


def _to_item(new: New) -> Item:
    sent = new.transmission
    waits = bool(sent.start_ms)
    listed = {"owner": _owner(sent.account_id, scheduled=waits), "owner_key": sent.id}
    return {
        "pk": _pk(sent.id),
        "sk": "transmission",
        **(listed if waits or new.recipients > 1 else {}),
        "account_id": sent.account_id,
        "subaccount_id": sent.subaccount_id,
        "campaign_id": sent.campaign_id,
        "description": sent.description,
        "template_id": sent.template_id or sent.content.get("template_id", ""),
        "draft": bool(sent.content.get("use_draft_template")),
        "state": new.state,
        "recipients": new.recipients,
        "chunks": -(-new.recipients // new.chunk_size),
        "chunk_size": new.chunk_size,
        "list_ref": new.list_ref or {},
        "created_ms": sent.created_ms,
        "expires": int(clock.now()) + RETENTION,
        **_body(sent.id, new.packed),
    }


def _body(transmission_id: str, packed: bytes) -> dict[str, bytes | str]:
    """Return the attribute that holds the body, after storing what does not fit into one.

    The object is named by what it holds, so that the body of a write that fails replaces no other.
    """
    body = zlib.compress(packed, 1)
    if len(body) <= settings().item_inline_bytes:
        return {"body": body, "blob": ""}
    key = f"transmissions/{transmission_id}/body-{sha256(body).hexdigest()[:32]}"
    blobs.put(key, body)
    return {"body": b"", "blob": key}


def _record(item: Item) -> Record:
    body = blobs.get(item["blob"]) if item["blob"] else item["body"]
    return Record(
        unpacked(zlib.decompress(body)),
        item["state"],
        item["recipients"],
        item["chunks"],
        item["chunk_size"],
        item["list_ref"],
    )


def _owner(account_id: int, *, scheduled: bool = False) -> str:
    return account_partition(account_id, "scheduled" if scheduled else "transmissions")


def _pk(transmission_id: str) -> str:
    return f"transmission#{transmission_id}"


def _recipients_key(transmission_id: str) -> str:
    return f"transmissions/{transmission_id}/recipients"
