"""Keep a record of each work unit: who has the lease on it, and whether it is completed.

The recipients of a transmission are cut into chunks once, when it is accepted. A *work unit* is a
chunk on its way: one worker generates all its messages, then one worker delivers them. Messages
that must wait go on in a unit of their own. A unit is named ``<chunk>`` at first; ``d`` is added
for messages that were deferred, and ``c`` for messages that the worker had no time to attempt.

A worker acquires a lease for ``DELIVERY_LEASE`` seconds. Another worker may take an expired lease
over; a completed unit is dropped when its queue message comes again.

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

from dataclasses import dataclass
from enum import Enum

from chalicelib.core import clock, dynamo
from chalicelib.core.dynamo import ConditionFailed, Item, Table, TransactionFailed
from chalicelib.core.settings import settings
from chalicelib.tracking.store import message_context

_messages = Table("messages")

#: The name of the unit of a transmission's only message
SINGLE = "single"
DEFERRED = "d"
CONTINUED = "c"

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
        """Return the unit that an earlier version made of the only message."""
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
class Lease:
    """A worker's lease; ``expires_at`` (seconds) tells it from later leases of the same unit."""

    status: LeaseStatus
    expires_at: float = 0.0


class BegunEarlier(Exception):
    """A version without single units has begun to send the only message, as its first chunk."""


class LeaseLost(Exception):
    """Another worker has taken the unit over: this worker must do nothing more with it."""


@dataclass(frozen=True, slots=True)
class Generation:
    """The record of a unit's generation.

    ``injected_ms`` is the time of the first generation, which counts. ``lease`` is there if the
    worker that generated the unit is to deliver it as well.
    """

    injected_ms: int
    lease: Lease | None = None


def record_generation(
    unit: WorkUnit, injected_ms: int, *, to_deliver: bool = False, context: Item | None = None
) -> Generation | None:
    """Record that ``unit`` is generated; return ``None`` if it has already been delivered.

    Repeated generation gets the time of the first. The first may acquire the lease for delivery in
    the same request, and stores the ``context`` of the unit's messages in it. If the outcome of a
    single message is recorded, the lease is taken over, to emit the events of the outcome again.
    Raises :class:`BegunEarlier`.
    """
    record: Item = _key(unit) | {"injected_at": injected_ms, "expires": _expiry()}
    expires_at = clock.now() + settings().delivery_lease
    if to_deliver:
        record["lease"] = expires_at
    if unit.is_single and context:
        existing = _create({**context, **record, "messages": 1, "failed": 0}, None)
    else:
        existing = _create(record, context)
    if existing is None:
        return Generation(injected_ms, Lease(LeaseStatus.FIRST, expires_at) if to_deliver else None)
    if existing.get("done"):
        return None
    if unit.is_single and "injected_at" not in existing:
        raise BegunEarlier
    lease = Lease(LeaseStatus.TAKEN_OVER, existing["lease"]) if "outcome" in existing else None
    return Generation(existing.get("injected_at", injected_ms), lease)


def _create(record: Item, context: Item | None) -> Item | None:
    """Write a record and the context of its messages, or return the record that exists already."""
    try:
        if context:
            create = dynamo.put(_messages, record, condition="attribute_not_exists(#pk)")
            dynamo.transact([create, dynamo.put(_messages, context)])
        else:
            _messages.create(record)
    except ConditionFailed as failure:
        return failure.item or {}
    except TransactionFailed:
        return _messages.get(record["pk"], record["sk"]) or {}
    return None


def acquire(unit: WorkUnit, *, counts: Counts) -> Lease:
    """Ask for the lease to deliver ``unit``; the status of the answer says whether it is granted.

    The first lease adds ``counts`` to the record.
    """
    now = clock.now()
    expires_at = now + settings().delivery_lease
    key = _key(unit)
    messages, failed = counts
    try:
        _messages.update(
            key["pk"],
            key["sk"],
            "SET #lease = :until, #expires = :expires, #messages = :messages, #failed = :failed",
            values={
                "until": expires_at,
                "expires": _expiry(),
                "messages": messages,
                "failed": failed,
            },
            condition="attribute_not_exists(#done) AND attribute_not_exists(#lease)",
        )
    except ConditionFailed as failure:
        record = failure.item or {}
        if record.get("done"):
            return Lease(LeaseStatus.COMPLETED)
        if record["lease"] == expires_at:  # the client repeated its own write
            return Lease(LeaseStatus.FIRST, expires_at)
        return _take_over(unit, record["lease"], now)
    return Lease(LeaseStatus.FIRST, expires_at)


def _take_over(unit: WorkUnit, current: float, now: float) -> Lease:
    expires_at = now + settings().delivery_lease
    if current > now or not _extended(unit, current, expires_at):
        return Lease(LeaseStatus.BUSY)
    return Lease(LeaseStatus.TAKEN_OVER, expires_at)


def renew(unit: WorkUnit, lease: Lease) -> None:
    """Make sure of a lease before its last step; raises :class:`LeaseLost` if it is lost.

    In the first half of the lease no other worker can have taken it over, whatever its clock says,
    so this makes no request.
    """
    now = clock.now()
    if now < lease.expires_at - settings().delivery_lease / 2:
        return
    if not _extended(unit, lease.expires_at, now + settings().delivery_lease):
        raise LeaseLost(str(unit))


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
        return bool(failure.item) and (failure.item or {}).get("lease") == expires_at
    return True


def complete(unit: WorkUnit, *, counts: Counts) -> None:
    """Record that ``unit`` is completed; its queue message is dropped if it comes again."""
    key = _key(unit)
    messages, failed = counts
    _messages.update(
        key["pk"],
        key["sk"],
        "SET #done = :yes, #messages = :messages, #failed = :failed",
        values={"yes": True, "messages": messages, "failed": failed},
    )


def record_outcome(unit: WorkUnit, outcome: str) -> None:
    """Record the outcome of a single message's attempt in its unit's record."""
    key = _key(unit)
    _messages.update(key["pk"], key["sk"], "SET #outcome = :outcome", values={"outcome": outcome})


def outcome_of(unit: WorkUnit) -> str | None:
    """Return the outcome of a single message's attempt, if it is recorded."""
    item = _messages.get(*_key(unit).values())
    return item.get("outcome") if item else None


def generated_chunks(transmission_id: str) -> list[ChunkRecord]:
    """Return the chunks of a transmission that were generated."""
    items = _messages.query_all(
        "#pk = :pk AND begins_with(#sk, :units)",
        {"pk": f"transmission#{transmission_id}", "units": "unit#"},
    )
    chunks = list(map(_chunk_record, filter(_is_generated, items)))
    if not chunks:
        single = _messages.get(*_key(WorkUnit(transmission_id, SINGLE)).values())
        chunks = [_chunk_record(single)] if single and _is_generated(single) else []
    return chunks


def _is_generated(item: Item) -> bool:
    return "injected_at" in item and "messages" in item


def _chunk_record(item: Item) -> ChunkRecord:
    return ChunkRecord(item["injected_at"], item["messages"], item["failed"])


def _key(unit: WorkUnit) -> dict[str, str]:
    if unit.is_single:
        return message_context.key_of(unit.transmission_id, 0)
    return {"pk": f"transmission#{unit.transmission_id}", "sk": f"unit#{unit.name}"}


def _expiry() -> int:
    return int(clock.now()) + settings().messages_retention
