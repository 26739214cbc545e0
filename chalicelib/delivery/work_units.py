"""Units of work on messages, and who works on them.

The recipients of a transmission are cut into chunks once, when it is accepted. A *unit* is a chunk
on its way: it is generated as a whole and then delivered; messages that must wait go on in a unit
of their own. A unit is named ``<chunk>`` at first; ``d`` is added for the messages that were
deferred and ``c`` for those that were not reached in time. Its record in the ``messages`` table
keeps apart who may work on it.

Access patterns (table ``messages``):

- the record of a unit → ``pk = transmission#<id>``, ``sk = unit#<name>``
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from chalicelib.core import clock, dynamo
from chalicelib.core.dynamo import ConditionFailed, Item, Table, TransactionFailed, Write
from chalicelib.core.settings import settings

_messages = Table("messages")

DEFERRED = "d"
CONTINUED = "c"


@dataclass(frozen=True, slots=True)
class WorkUnit:
    """The name of a unit: its transmission and its place in it."""

    transmission_id: str
    name: str

    @property
    def deferred(self) -> WorkUnit:
        """Return the unit in which this one's deferred messages go on."""
        return WorkUnit(self.transmission_id, self.name + DEFERRED)

    @property
    def continued(self) -> WorkUnit:
        """Return the unit in which those of its messages go on that were not attempted."""
        return WorkUnit(self.transmission_id, self.name + CONTINUED)

    @property
    def origin(self) -> str:
        """Return what this unit and those in which its messages go on have in common."""
        return f"{self.transmission_id}-{self.name.rstrip(DEFERRED + CONTINUED)}"

    def __str__(self) -> str:
        return f"{self.transmission_id}-{self.name}"


@dataclass(frozen=True, slots=True)
class Generated:
    """What became of a chunk: when it was generated, messages made, recipients without one."""

    at_ms: int
    messages: int
    failed: int


class Standing(Enum):
    """What came of asking to work on a unit."""

    FIRST = "first"  # nobody has begun it
    TAKEN_OVER = "taken over"  # somebody began it and did not end it in time
    BUSY = "busy"  # somebody is working on it
    DONE = "done"  # it is finished


@dataclass(frozen=True, slots=True)
class Claim:
    """The answer to asking for a unit; ``lease`` (seconds) tells this claim from later ones."""

    standing: Standing
    lease: float = 0.0


class LeaseLost(Exception):
    """Another worker has taken the unit over; nothing more may be done with it."""


@dataclass(frozen=True, slots=True)
class Begun:
    """The answer to beginning a unit's generation.

    ``at_ms`` is the time that counts, that of the first generation; ``claim`` is there if whoever
    began is to deliver the unit as well.
    """

    at_ms: int
    claim: Claim | None = None


def begin(
    unit: WorkUnit, at_ms: int, *, to_deliver: bool = False, along: Sequence[Write] = ()
) -> Begun | None:
    """Note that ``unit`` is generated; ``None`` if it has already been delivered.

    Repeated generation gets the time of the first. The first may claim the unit for delivery in the
    same request, and makes the writes ``along``, both or neither.
    """
    item: Item = _key(unit) | {"injected_at": at_ms, "expires": _expiry()}
    lease = clock.now() + settings().delivery_lease
    if to_deliver:
        item["lease"] = lease
    found = _found_or_created(item, along)
    if found is not None:
        return None if found.get("done") else Begun(found.get("injected_at", at_ms))
    return Begun(at_ms, Claim(Standing.FIRST, lease) if to_deliver else None)


def _found_or_created(item: Item, along: Sequence[Write]) -> Item | None:
    """Return the record that is there already; ``None`` if ``item`` and ``along`` are written."""
    try:
        if along:
            record = dynamo.put(_messages, item, condition="attribute_not_exists(#pk)")
            dynamo.transact([record, *along])
        else:
            _messages.create(item)
    except ConditionFailed as failure:
        return failure.item or {}
    except TransactionFailed:
        return _messages.get(item["pk"], item["sk"]) or {}
    return None


def claim(unit: WorkUnit, *, generated: tuple[int, int]) -> Claim:
    """Try to become the one that delivers ``unit``, for ``DELIVERY_LEASE`` seconds.

    ``generated`` says how many messages its generation made, and for how many recipients it made
    none; with the first claim the record gets to know it.
    """
    now = clock.now()
    until = now + settings().delivery_lease
    key = _key(unit)
    messages, failed = generated
    try:
        _messages.update(
            key["pk"],
            key["sk"],
            "SET #lease = :until, #expires = :expires, #messages = :messages, #failed = :failed",
            values={
                "until": until,
                "expires": _expiry(),
                "messages": messages,
                "failed": failed,
            },
            condition="attribute_not_exists(#done) AND attribute_not_exists(#lease)",
        )
    except ConditionFailed as found:
        record = found.item or {}
        if record.get("done"):
            return Claim(Standing.DONE)
        if record["lease"] == until:  # the client repeated its own write
            return Claim(Standing.FIRST, until)
        return _take_over(unit, record["lease"], now)
    return Claim(Standing.FIRST, until)


def _take_over(unit: WorkUnit, lease: float, now: float) -> Claim:
    until = now + settings().delivery_lease
    if lease > now or not _moved(unit, lease, until):
        return Claim(Standing.BUSY)
    return Claim(Standing.TAKEN_OVER, until)


def hold(unit: WorkUnit, claim: Claim) -> None:
    """Make sure of a claim before its last step; raises :class:`LeaseLost` if it is lost.

    Nobody can have taken it over in the first half of its time, whatever their clock says.
    """
    now = clock.now()
    if now < claim.lease - settings().delivery_lease / 2:
        return
    if not _moved(unit, claim.lease, now + settings().delivery_lease):
        raise LeaseLost(str(unit))


def _moved(unit: WorkUnit, lease: float, until: float) -> bool:
    key = _key(unit)
    try:
        _messages.update(
            key["pk"],
            key["sk"],
            "SET #lease = :until",
            values={"until": until, "found": lease},
            condition="#lease = :found AND attribute_not_exists(#done)",
        )
    except ConditionFailed as found:
        return bool(found.item) and (found.item or {}).get("lease") == until
    return True


def finish(unit: WorkUnit, *, generated: tuple[int, int]) -> None:
    """Note that ``unit`` is finished; whoever meets it again drops it.

    ``generated`` as for :func:`claim`.
    """
    key = _key(unit)
    messages, failed = generated
    _messages.update(
        key["pk"],
        key["sk"],
        "SET #done = :yes, #messages = :messages, #failed = :failed",
        values={"yes": True, "messages": messages, "failed": failed},
    )


def generated(transmission_id: str) -> list[Generated]:
    """Return what is known of the chunks of a transmission that were generated."""
    items = _messages.query_all(
        "#pk = :pk AND begins_with(#sk, :units)",
        {"pk": f"transmission#{transmission_id}", "units": "unit#"},
    )
    return [
        Generated(item["injected_at"], item["messages"], item["failed"])
        for item in items
        if "injected_at" in item and "messages" in item
    ]


def _key(unit: WorkUnit) -> dict[str, str]:
    return {"pk": f"transmission#{unit.transmission_id}", "sk": f"unit#{unit.name}"}


def _expiry() -> int:
    return int(clock.now()) + settings().messages_retention
