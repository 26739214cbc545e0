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

from dataclasses import dataclass
from enum import Enum

from chalicelib.core import clock
from chalicelib.core.dynamo import ConditionFailed, Table
from chalicelib.core.settings import settings

_messages = Table("messages")

DEFERRED = "d"
CONTINUED = "c"


@dataclass(frozen=True, slots=True)
class Unit:
    """The name of a unit: its transmission and its place in it."""

    transmission_id: str
    name: str

    @property
    def deferred(self) -> Unit:
        """Return the unit in which this one's deferred messages go on."""
        return Unit(self.transmission_id, self.name + DEFERRED)

    @property
    def continued(self) -> Unit:
        """Return the unit in which those of its messages go on that were not attempted."""
        return Unit(self.transmission_id, self.name + CONTINUED)

    def __str__(self) -> str:
        return f"{self.transmission_id}-{self.name}"


class Claim(Enum):
    """What came of asking to work on a unit."""

    FIRST = "first"  # nobody has begun it
    TAKEN_OVER = "taken over"  # somebody began it and did not end it in time
    BUSY = "busy"  # somebody is working on it
    DONE = "done"  # it is finished


def begin(unit: Unit, at_ms: int) -> int | None:
    """Note that generation of ``unit`` begins; return the time that counts, in milliseconds.

    Repeated generation gets the time of the first, so that it makes the same events; ``None`` if
    the unit has already been delivered.
    """
    item = _key(unit) | {"injected_at": at_ms, "expires": _expiry()}
    try:
        _messages.create(item)
    except ConditionFailed as found:
        record = found.item or {}
        return None if record.get("done") else record.get("injected_at", at_ms)
    return at_ms


def claim(unit: Unit) -> Claim:
    """Try to become the one that delivers ``unit``, for ``DELIVERY_LEASE`` seconds."""
    now = clock.now()
    key = _key(unit)
    try:
        _messages.update(
            key["pk"],
            key["sk"],
            "SET #lease = :until, #expires = :expires",
            values={"until": now + settings().delivery_lease, "expires": _expiry()},
            condition="attribute_not_exists(#done) AND attribute_not_exists(#lease)",
        )
    except ConditionFailed as found:
        record = found.item or {}
        if record.get("done"):
            return Claim.DONE
        return _take_over(unit, record["lease"], now)
    return Claim.FIRST


def _take_over(unit: Unit, lease: float, now: float) -> Claim:
    if lease > now:
        return Claim.BUSY
    key = _key(unit)
    try:
        _messages.update(
            key["pk"],
            key["sk"],
            "SET #lease = :until",
            values={"until": now + settings().delivery_lease, "found": lease},
            condition="#lease = :found AND attribute_not_exists(#done)",
        )
    except ConditionFailed:
        return Claim.BUSY
    return Claim.TAKEN_OVER


def renew(unit: Unit) -> None:
    """Lengthen the claim by another ``DELIVERY_LEASE`` seconds."""
    key = _key(unit)
    _messages.update(
        key["pk"],
        key["sk"],
        "SET #lease = :until",
        values={"until": clock.now() + settings().delivery_lease},
    )


def finish(unit: Unit) -> None:
    """Note that ``unit`` is finished; whoever meets it again drops it."""
    key = _key(unit)
    _messages.update(key["pk"], key["sk"], "SET #done = :yes", values={"yes": True})


def _key(unit: Unit) -> dict[str, str]:
    return {"pk": f"transmission#{unit.transmission_id}", "sk": f"unit#{unit.name}"}


def _expiry() -> int:
    return int(clock.now()) + settings().messages_retention
