"""Keep a record of each work unit: who has the lease on it, and whether it is completed.

The recipients of a transmission are cut into chunks once, when it is accepted. A *work unit* is a
chunk on its way: one worker generates all its messages, then one worker delivers them. Messages
that must wait go on in a unit of their own. A unit is named ``<chunk>`` at first; ``d`` is added
for messages that were deferred, and ``c`` for messages that the worker had no time to attempt.

A worker acquires a lease for ``DELIVERY_LEASE`` seconds. Another worker may take an expired lease
over; a completed unit is dropped when its queue message comes again. A worker that could attempt
nothing releases its lease, and the unit is as it was before.

The only message of a transmission that is sent at once is a unit named ``single``. Its record is in
one item with the context of the message and the outcome of its attempt: that takes one write before
the attempt and one after it. A unit with an outcome needs no mark that it is completed: whoever
gets its queue message again emits the events of the outcome again.

Access patterns of ``messages``:

- the record of a transmission's only message → ``transmission#<id>`` / ``facts#00000000``
- the record of a work unit → ``transmission#<id>`` / ``unit#<name>``
- the records of a transmission's work units → ``transmission#<id>`` / ``unit#*``
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from math import inf
from typing import NotRequired

from chalicelib.core import clock, dynamo
from chalicelib.core.dynamo import ConditionFailed, Keyed, Table, TableItem, TransactionFailed
from chalicelib.core.settings import settings
from chalicelib.tracking.store import message_context
from chalicelib.tracking.store.message_context import ContextItem


class UnitItem(ContextItem):
    """The record of a work unit; that of a transmission's only message holds its context too."""

    #: When the unit was generated, in ms
    injected_at: NotRequired[int]
    #: When the lease to deliver it ends, in seconds
    lease: NotRequired[float]
    #: The ``Counts`` of the unit
    messages: NotRequired[int]
    failed: NotRequired[int]
    #: Whether the unit is completed
    done: NotRequired[bool]
    #: The outcome of the only message, as JSON (``journal_files.Entry``)
    outcome: NotRequired[str]


_messages: Table[UnitItem] = Table("messages")
_contexts: Table[ContextItem] = Table("messages")

#: The name of the unit of a transmission's only message
SINGLE = "single"
DEFERRED = "d"
CONTINUED = "c"

_COMPLETE = "SET #done = :yes, #messages = :messages, #failed = :failed"

Counts = tuple[int, int]
"""How many messages a unit's generation made, and for how many recipients it made none."""


@dataclass(frozen=True, slots=True)
class WorkUnit:
    """The name of a unit: its transmission and its place in it."""

    transmission_id: str
    name: str

    @property
    def is_single(self) -> bool:
        """Tell whether the unit is the first of a transmission's only message."""
        return self.name == SINGLE

    @property
    def as_chunk(self) -> WorkUnit:
        """Return the unit that version 0.1.0 made of the only message (goes with 0.3.0)."""
        return WorkUnit(self.transmission_id, "0")

    @property
    def deferred(self) -> WorkUnit:
        """Return the unit of the messages that this unit deferred."""
        return WorkUnit(self.transmission_id, self.name + DEFERRED)

    @property
    def continued(self) -> WorkUnit:
        """Return the unit of the messages that this unit had no time to attempt."""
        return WorkUnit(self.transmission_id, self.name + CONTINUED)

    @property
    def chunk(self) -> int:
        """Return the number of the chunk that the unit's messages come from."""
        return 0 if self._first_name == SINGLE else int(self._first_name)

    @property
    def is_first(self) -> bool:
        """Tell whether the unit was generated, and does not continue another one."""
        return self.name == self._first_name

    @property
    def origin(self) -> str:
        """Return the name that this unit shares with those in which its messages go on."""
        return f"{self.transmission_id}-{self._first_name}"

    @property
    def first(self) -> WorkUnit:
        """Return the unit that was generated, in which the attempts on these messages began."""
        return WorkUnit(self.transmission_id, self._first_name)

    @property
    def retries(self) -> int:
        """Return how often the unit's messages were deferred before."""
        return self.name.removeprefix(self._first_name).count(DEFERRED)

    @property
    def _first_name(self) -> str:
        return self.name.rstrip(DEFERRED + CONTINUED)

    def __str__(self) -> str:
        return f"{self.transmission_id}-{self.name}"


@dataclass(frozen=True, slots=True)
class ChunkRecord:
    """A chunk that was generated: when, how many messages, and recipients without a message."""

    injected_ms: int
    messages: int
    failed: int


class LeaseStatus(Enum):
    """The answer to a worker that asks for a lease."""

    FIRST = "first"  # granted, and nobody had a lease before
    TAKEN_OVER = "taken over"  # granted, because the lease of another worker has expired
    BUSY = "busy"  # refused: another worker has the lease
    COMPLETED = "completed"  # refused: the unit is completed


@dataclass(frozen=True, slots=True)
class UnitLease:
    """A worker's lease; ``expires_at`` (seconds) tells it from later leases of the same unit.

    ``asked_at`` (``clock.monotonic``) is when the worker asked for it: the lease ends later than
    ``DELIVERY_LEASE`` seconds after that, whatever happens to this machine's clock.
    """

    status: LeaseStatus
    expires_at: float = 0.0
    asked_at: float = field(default_factory=clock.monotonic, compare=False)

    @property
    def is_over(self) -> bool:
        """Tell whether another worker may have taken the unit over."""
        return clock.monotonic() >= self.asked_at + settings().delivery_lease


class BegunEarlier(Exception):
    """A version without single units has begun to send the only message, as its first chunk."""


class LeaseLost(Exception):
    """Another worker has taken the unit over: this worker must do nothing more with it."""


@dataclass(frozen=True, slots=True)
class Generation:
    """The record of a unit's generation.

    ``injected_ms`` is the time of the first generation, which counts. ``lease`` is there if the
    worker that generated the unit is to deliver it as well, and ``record`` is what was stored of a
    single message.
    """

    injected_ms: int
    lease: UnitLease | None = None
    record: UnitItem | None = None


def record_generation(
    unit: WorkUnit,
    injected_ms: int,
    *,
    to_deliver: bool = False,
    context: ContextItem | None = None,
) -> Generation | None:
    """Record that ``unit`` is generated; return ``None`` if it has already been delivered.

    Repeated generation gets the time of the first. The first may acquire the lease for delivery in
    the same request, and stores the ``context`` of the unit's messages in it. If the outcome of a
    single message is recorded, the lease is taken over, to emit the events of the outcome again.
    Raises :class:`BegunEarlier`.
    """
    key = _key(unit)
    record: UnitItem = {
        "pk": key["pk"],
        "sk": key["sk"],
        "injected_at": injected_ms,
        "expires": _expiry(),
    }
    lease = _new_lease()
    if to_deliver:
        record["lease"] = lease.expires_at
    is_single = unit.is_single and context is not None
    if context is not None and is_single:
        record = {**context, **record, "messages": 1, "failed": 0}
    existing = _create(record, None if is_single else context)
    if existing is None:
        return Generation(injected_ms, lease if to_deliver else None, record if is_single else None)
    if existing.get("done"):
        return None
    if unit.is_single and "injected_at" not in existing:
        raise BegunEarlier
    if "outcome" not in existing:
        return Generation(existing.get("injected_at", injected_ms))
    lease = UnitLease(LeaseStatus.TAKEN_OVER, existing["lease"], asked_at=-inf)
    return Generation(existing["injected_at"], lease)


def _create(record: UnitItem, context: ContextItem | None) -> UnitItem | None:
    """Write a record and the context of its messages, or return the record that exists already."""
    try:
        if context:
            create = dynamo.put(_messages, record, condition="attribute_not_exists(#pk)")
            dynamo.transact([create, dynamo.put(_contexts, context)])
        else:
            _messages.create(record)
    except ConditionFailed as failure:
        return failure.item
    except TransactionFailed:
        nothing: UnitItem = {"pk": record["pk"], "sk": record["sk"], "expires": record["expires"]}
        return _messages.get(record["pk"], record["sk"]) or nothing
    return None


def acquire(unit: WorkUnit, *, counts: Counts, outlasted: float | None = None) -> UnitLease:
    """Ask for the lease to deliver ``unit``; the status of the answer says whether it is granted.

    The first lease adds ``counts`` to the record. A refusal names the end of the other worker's
    lease as ``expires_at``. ``outlasted`` is such an end, after the caller has waited for as long
    as a lease lasts: that lease counts as expired even if the clock was set back meanwhile.
    """
    lease = _new_lease()
    key = _key(unit)
    messages, failed = counts
    try:
        _messages.update(
            key["pk"],
            key["sk"],
            "SET #lease = :until, #expires = :expires, #messages = :messages, #failed = :failed",
            values={
                "until": lease.expires_at,
                "expires": _expiry(),
                "messages": messages,
                "failed": failed,
            },
            condition="attribute_not_exists(#done) AND attribute_not_exists(#lease)",
        )
    except ConditionFailed as failure:
        record: UnitItem = failure.item
        if record.get("done"):
            return UnitLease(LeaseStatus.COMPLETED)
        if record["lease"] == lease.expires_at:  # the client repeated its own write
            return lease
        return _take_over(unit, record["lease"], outlasted)
    return lease


def _new_lease(status: LeaseStatus = LeaseStatus.FIRST) -> UnitLease:
    asked_at = clock.monotonic()
    return UnitLease(status, clock.now() + settings().delivery_lease, asked_at)


def _take_over(unit: WorkUnit, current: float, outlasted: float | None) -> UnitLease:
    lease = _new_lease(LeaseStatus.TAKEN_OVER)
    is_over = current <= clock.now() or current == outlasted
    if is_over and _extended(unit, current, lease.expires_at):
        return lease
    return UnitLease(LeaseStatus.BUSY, current)


def renew(unit: WorkUnit, lease: UnitLease) -> UnitLease:
    """Make sure of a lease; return the one in force, or raise :class:`LeaseLost`.

    In the first half of the lease no other worker can have taken it over, whatever its clock says,
    so this makes no request.
    """
    if clock.monotonic() < lease.asked_at + settings().delivery_lease / 2:
        return lease
    renewed = _new_lease(lease.status)
    if not _extended(unit, lease.expires_at, renewed.expires_at):
        raise LeaseLost(str(unit))
    return renewed


def release(unit: WorkUnit, lease: UnitLease) -> None:
    """Give back a first lease under which nothing was attempted; one that was lost stays so."""
    key = _key(unit)
    with suppress(ConditionFailed):
        _messages.update(
            key["pk"],
            key["sk"],
            "REMOVE #lease",
            values={"current": lease.expires_at},
            condition="#lease = :current AND attribute_not_exists(#done)",
        )


def _extended(unit: WorkUnit, current: float, expires_at: float) -> bool:
    """Move the end of a lease; return ``False`` if the lease is not ``current`` any more."""
    key = _key(unit)
    try:
        _messages.update(
            key["pk"],
            key["sk"],
            "SET #lease = :until",
            values={"until": expires_at, "current": current},
            condition="#lease = :current AND attribute_not_exists(#done)",
        )
    except ConditionFailed as failure:  # the client may have repeated its own write
        record: UnitItem | None = failure.item
        return record is not None and record.get("lease") == expires_at
    return True


def complete(unit: WorkUnit, *, counts: Counts) -> None:
    """Record that ``unit`` is completed; its queue message is dropped if it comes again."""
    key = _key(unit)
    _messages.update(key["pk"], key["sk"], _COMPLETE, values=_completion(counts))


def complete_all(units: Sequence[tuple[WorkUnit, Counts]]) -> None:
    """Record that units are completed, all in one request, a transaction if they are several."""
    if len(units) == 1:
        complete(units[0][0], counts=units[0][1])
        return
    writes = []
    for unit, counts in units:
        key = _key(unit)
        change = dynamo.update(
            _messages, key["pk"], key["sk"], _COMPLETE, values=_completion(counts)
        )
        writes.append(change)
    dynamo.transact(writes)


def _completion(counts: Counts) -> dict[str, int]:
    messages, failed = counts
    return {"yes": True, "messages": messages, "failed": failed}


def with_outcome(record: UnitItem, lease: UnitLease, outcome: str) -> TableItem:
    """Return the record of a single message with its outcome, as its worker may store it.

    While the worker has the lease, nobody else changes the record: an erasure finds the message by
    its events, which are stored later.
    """
    new: UnitItem = {**record, "lease": lease.expires_at, "outcome": outcome}
    return _messages, new


def record_outcome(unit: WorkUnit, outcome: str) -> None:
    """Record the outcome of a single message's attempt in its unit's record."""
    key = _key(unit)
    _messages.update(key["pk"], key["sk"], "SET #outcome = :outcome", values={"outcome": outcome})


def outcome_of(unit: WorkUnit) -> str | None:
    """Return the outcome of a single message's attempt, if it is recorded."""
    key = _key(unit)
    item = _messages.get(key["pk"], key["sk"])
    return item.get("outcome") if item else None


def generated_chunks(transmission_id: str) -> list[ChunkRecord]:
    """Return the chunks of a transmission that were generated."""
    items = _messages.query_all(
        "#pk = :pk AND begins_with(#sk, :units)",
        {"pk": f"transmission#{transmission_id}", "units": "unit#"},
    )
    chunks = list(map(_chunk_record, filter(_is_generated, items)))
    if not chunks:
        key = _key(WorkUnit(transmission_id, SINGLE))
        single = _messages.get(key["pk"], key["sk"])
        chunks = [_chunk_record(single)] if single and _is_generated(single) else []
    return chunks


def _is_generated(item: UnitItem) -> bool:
    return "injected_at" in item and "messages" in item


def _chunk_record(item: UnitItem) -> ChunkRecord:
    return ChunkRecord(item["injected_at"], item["messages"], item["failed"])


def _key(unit: WorkUnit) -> Keyed:
    if unit.is_single:
        return message_context.key_of(unit.transmission_id, 0)
    return {"pk": f"transmission#{unit.transmission_id}", "sk": f"unit#{unit.name}"}


def _expiry() -> int:
    return int(clock.now()) + settings().messages_retention
