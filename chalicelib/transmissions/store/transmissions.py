"""Store transmissions and the recipients of those that start later.

Access patterns of ``transmissions``:

- one transmission → ``transmission#<id>`` / ``transmission``
- an account's transmissions to several → ``account#<account>/transmissions`` / ``<id>`` [by_owner]
- an account's scheduled transmissions → ``account#<account>/scheduled`` / ``<id>`` [by_owner]

Access patterns of ``bucket``:

- the recipients of one that starts later → ``transmissions/<id>/recipients``
- the body of a transmission, if it is large → ``transmissions/<id>/body-<digest>``

Transmissions to one recipient, which are most and which no list shows, are in no index. A scheduled
one moves to the other partition of the index when it starts.

The body is one compressed value in the item, or an object of the bucket when it is large. A
request of several chunks is written in the state ``accepting`` and becomes ``submitted`` when all
its chunks are queued, so that nothing is sent of a partly accepted one.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from itertools import islice
from typing import Any, NotRequired

from chalicelib.accounts.store import sandbox, usage
from chalicelib.accounts.store.allowance import Allowance
from chalicelib.core import blobs, caches, clock, dynamo, ids
from chalicelib.core.dynamo import (
    Attributes,
    ConditionFailed,
    Keyed,
    Table,
    TransactionFailed,
    Write,
)
from chalicelib.core.errors import ApiError
from chalicelib.core.json_types import Json
from chalicelib.core.owner_keys import account_partition
from chalicelib.core.settings import settings
from chalicelib.core.spool import PIECE, Spool
from chalicelib.recipient_lists.stored_form import iterate, join
from chalicelib.transmissions.model import (
    ACCEPTING,
    CANCELLED,
    GENERATING,
    SUBMITTED,
    Transmission,
    unpack,
)


class TransmissionBody(Attributes):
    """The bytes of a transmission (``Transmission.pack``)."""

    #: Compressed, empty if it is large
    body: bytes
    #: The object of the bucket that holds a large body, else empty
    blob: str


class TransmissionItem(TransmissionBody, Keyed):
    """A transmission, with what a list shows of it."""

    #: The keys of the index, for one that is scheduled or goes to several
    owner: NotRequired[str]
    owner_key: NotRequired[str]
    account_id: int
    subaccount_id: int | None
    campaign_id: str
    description: str
    template_id: str
    draft: bool
    state: str
    recipients: int
    chunks: int
    chunk_size: int
    #: Whether the recipients were counted at acceptance; in version 0.1.0 they always were
    counted: NotRequired[bool]
    #: The stored list to which it is sent (``recipient_lists``), or empty
    list_ref: Json
    created_ms: int
    expires: int


_transmissions: Table[TransmissionItem] = Table("transmissions")

RETENTION = 30 * 86_400


class NotSubmitted(LookupError):
    """The transmission is unknown, or not all of it has been accepted yet."""


@dataclass(frozen=True, slots=True)
class Record:
    """A transmission with its state and the counts that change when it starts."""

    transmission: Transmission
    state: str
    recipients: int
    chunks: int
    chunk_size: int
    list_ref: Json


@dataclass(frozen=True, slots=True)
class Summary:
    """The attributes of a transmission that the index holds: those that a list shows."""

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
class NewRecord:
    """A transmission to be stored, ``data`` being its bytes in pieces.

    ``list_ref`` names the stored list to which it is sent, if any.
    """

    transmission: Transmission
    data: Sequence[bytes]
    state: str
    recipients: int
    chunk_size: int
    list_ref: Json | None = None


@dataclass(frozen=True, slots=True)
class Stored:
    """What the request that stored a transmission decided: later ones repeat it.

    ``counts_at_acceptance`` says whether its recipients were counted with it.
    """

    chunk_size: int
    counts_at_acceptance: bool


def put(new: NewRecord, allowance: Allowance, *, along: Sequence[Write] = ()) -> Stored:
    """Store a new transmission and count its recipients, both or neither.

    ``along`` are writes of the same transaction. Storing the same transmission again changes
    nothing, so that an interrupted request can be repeated; the result is that of the first time.
    Raises 420 when a limit is exceeded.
    """
    item = _to_item(new)
    write = dynamo.put(_transmissions, item, condition="attribute_not_exists(#pk)")
    try:
        allowance.reserve(new.recipients, [write, *along])
    except (TransactionFailed, ApiError):
        # A repeated request may find a record in any state, as it may have been interrupted before
        # all its chunks were queued; and the limit may have no room to count it a second time.
        earlier = _transmissions.get(item["pk"], item["sk"])
        if earlier is None:
            raise
        return Stored(earlier["chunk_size"], earlier.get("counted", True))
    return Stored(new.chunk_size, new.transmission.counts_at_acceptance)


def exists(transmission_id: str) -> bool:
    """Tell whether a transmission is stored, in whatever state."""
    return _transmissions.get(_pk(transmission_id), "transmission") is not None


def commit(transmission_id: str) -> None:
    """Record that all chunks of a transmission are queued."""
    _transmissions.update(
        _pk(transmission_id),
        "transmission",
        "SET #state = :submitted",
        values={"submitted": SUBMITTED, "accepting": ACCEPTING},
        condition="#state IN (:accepting, :submitted)",
    )


def start(record: Record) -> bool:
    """Record that generation starts, with the final content and recipients.

    Returns ``False`` if it has started before or was cancelled.
    """
    values = {
        "recipients": record.recipients,
        "chunks": record.chunks,
        "list_ref": record.list_ref,
    }
    in_list = record.recipients > 1
    change = _change_of_state(record.transmission, GENERATING, values, in_list=in_list)
    try:
        _transmissions.update(**change)
    except ConditionFailed:
        return False
    return True


def cancel(transmission: Transmission, recipients: int, line: Sequence[Write] = ()) -> bool:
    """Record that a transmission is cancelled and uncount its recipients, both or neither.

    ``line`` is the line of the audit log, of the same transaction.

    Recipients that were not counted when they were accepted have no event yet and are not counted.

    Returns ``False`` if it has started or was cancelled before.
    """
    change = dynamo.update(
        _transmissions, **_change_of_state(transmission, CANCELLED, {}, in_list=True)
    )
    writes = [change, *line]
    try:
        if transmission.is_sandbox:
            sandbox.give_back(transmission.account_id, recipients, writes)
        elif not transmission.counts_at_acceptance:
            dynamo.transact(writes)
        else:
            counted_at = transmission.created_ms / 1000
            usage.give_back(transmission.account_id, recipients, counted_at, writes)
    except TransactionFailed:
        return False
    return True


def _change_of_state(
    transmission: Transmission, state: str, values: Json, *, in_list: bool
) -> dict[str, Any]:
    """Return the update that gives a submitted transmission a new state and body."""
    values = values | _body_attributes(transmission.id, transmission.pieces())
    if in_list:
        values["owner"] = _owner(transmission.account_id)
    sets = ", ".join(f"#{name} = :{name}" for name in values)
    removal = "" if in_list else " REMOVE #owner"
    return {
        "pk": _pk(transmission.id),
        "sk": "transmission",
        "expression": f"SET #state = :state, {sets}{removal}",
        "values": {"state": state, "submitted": SUBMITTED, **values},
        "condition": "#state = :submitted",
    }


def get(transmission_id: str) -> Record | None:
    """Return a transmission that was completely accepted, ``None`` if there is none."""
    item = _transmissions.get(_pk(transmission_id), "transmission")
    return _record(item) if item and item["state"] != ACCEPTING else None


@lru_cache(maxsize=8)
def get_submitted(transmission_id: str) -> Transmission:
    """Return a transmission whose content is final; raises :class:`NotSubmitted`.

    It serves the chunks of a transmission, which are queued after its content was resolved.
    """
    record = get(transmission_id)
    if record is None or not record.transmission.resolved:
        raise NotSubmitted(transmission_id)
    return record.transmission


caches.register(get_submitted.cache_clear)


def in_account(account_id: int) -> Iterator[Summary]:
    """Yield an account's transmissions: scheduled ones, then those to several, newest first."""
    yield from scheduled(account_id)
    yield from _owned_by(_owner(account_id))


def recent(account_id: int, since_ms: int) -> Iterator[Summary]:
    """Yield what :func:`in_account` does, without what was accepted and started before a moment."""
    yield from scheduled(account_id)
    yield from _owned_by(_owner(account_id), ids.first_transmission_id(since_ms))


def scheduled(account_id: int) -> Iterator[Summary]:
    """Yield the transmissions of an account that have not started, the newest first."""
    yield from _owned_by(_owner(account_id, scheduled=True))


def get_scheduled(account_id: int) -> Iterator[Transmission]:
    """Yield the transmissions of an account that have not started, whole, a hundred a request."""
    submitted_ids = (each.id for each in scheduled(account_id) if each.state == SUBMITTED)
    while page := list(islice(submitted_ids, dynamo.READ_BATCH)):
        items = _transmissions.get_all((_pk(each), "transmission") for each in page)
        yield from (_record(item).transmission for item in items if item["state"] == SUBMITTED)


def _owned_by(owner: str, first_id: str = "0") -> Iterator[Summary]:
    items = _transmissions.query_all(
        "#owner = :owner AND #owner_key >= :first_id",
        {"owner": owner, "first_id": first_id},
        index="by_owner",
        newest_first=True,
    )
    for item in items:
        if item["state"] != ACCEPTING:
            yield _summary(item)


def _summary(item: TransmissionItem) -> Summary:
    return Summary(
        id=item["owner_key"],
        subaccount_id=item["subaccount_id"],
        campaign_id=item["campaign_id"],
        description=item["description"],
        template_id=item["template_id"],
        draft=item["draft"],
        state=item["state"],
        recipients=item["recipients"],
        chunks=item["chunks"],
    )


def put_recipients(transmission_id: str, recipients: Iterable[bytes]) -> None:
    """Store the encoded recipients of a transmission that starts later."""
    blobs.put(_recipients_key(transmission_id), zlib.compress(join(recipients), 1))


def get_recipients(transmission_id: str) -> Iterator[bytes]:
    """Yield the encoded recipients that :func:`put_recipients` stored."""
    return iterate(zlib.decompress(blobs.get(_recipients_key(transmission_id))))


def _to_item(new: NewRecord) -> TransmissionItem:
    transmission = new.transmission
    body = _body_attributes(transmission.id, new.data)
    item: TransmissionItem = {
        "pk": _pk(transmission.id),
        "sk": "transmission",
        "account_id": transmission.account_id,
        "subaccount_id": transmission.subaccount_id,
        "campaign_id": transmission.campaign_id,
        "description": transmission.description,
        "template_id": transmission.template_id
        or transmission.requested_content.get("template_id", ""),
        "draft": bool(transmission.requested_content.get("use_draft_template")),
        "state": new.state,
        "recipients": new.recipients,
        "chunks": -(-new.recipients // new.chunk_size),
        "chunk_size": new.chunk_size,
        "counted": transmission.counts_at_acceptance,
        "list_ref": new.list_ref or {},
        "created_ms": transmission.created_ms,
        "expires": int(clock.now()) + RETENTION,
        "body": body["body"],
        "blob": body["blob"],
    }
    scheduled = bool(transmission.start_ms)
    if scheduled or new.recipients > 1:
        item["owner"] = _owner(transmission.account_id, scheduled=scheduled)
        item["owner_key"] = transmission.id
    return item


def _body_attributes(transmission_id: str, data: Sequence[bytes]) -> TransmissionBody:
    """Return the attributes that hold the body, after storing a large one in the bucket.

    The object is named by a digest of its bytes: a write that fails replaces no other body.
    """
    digest = sha256()
    with Spool() as body:
        for piece in _zlib_pieces(data):
            digest.update(piece)
            body.write(piece)
        if body.size <= settings().item_inline_bytes:
            return {"body": body.octets()[:], "blob": ""}
        key = f"transmissions/{transmission_id}/body-{digest.hexdigest()[:32]}"
        blobs.put_large(key, body.octets())
    return {"body": b"", "blob": key}


def _zlib_pieces(data: Sequence[bytes]) -> Iterator[bytes]:
    compressor = zlib.compressobj(1)
    for each in data:
        view = memoryview(each)
        for at in range(0, len(view), PIECE):
            yield compressor.compress(view[at : at + PIECE])
    yield compressor.flush()


def _record(item: TransmissionItem) -> Record:
    body = blobs.get(item["blob"]) if item["blob"] else item["body"]
    return Record(
        unpack(zlib.decompress(body)),
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
