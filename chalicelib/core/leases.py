"""Keep a resource from being changed or deleted while somebody has a lease on it.

A lease counts from ``since`` until its holder releases it, or until ``until``, so that a crash does
not block the resource for ever. After ``until`` it counts for another day at most, while its holder
is still active; ``app.py`` sets the function that tells this (:func:`set_activity`).

Acquiring one also sets a new revision (attribute ``stamp``) in the resource's record, on the
condition that the record exists. A change of the record reads it, asks :func:`is_leased`, and
writes on the condition that the revision is the one that was read (:func:`unchanged`). So of a
lease and a change at the same time one comes first and the other sees it: no lease is missed, and
nothing waits.

Access patterns of ``config``:

- the lease of one holder, in the partition of the resource → ``<partition of the resource>`` /
  ``use#<holder>``
- all leases of a resource → ``<partition of the resource>`` / ``use#*``
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NotRequired

from chalicelib.core import clock, dynamo
from chalicelib.core.dynamo import AnyItem, Keyed, Table, TransactionFailed

_LONGEST_ACTIVITY_SECONDS = 86_400


class LeaseItem(Keyed):
    """The lease of one holder; its times are seconds since the epoch."""

    since: float
    until: float
    #: When it no longer counts, even if its holder is still active
    expires: int
    #: False for a lease that counts only while its holder is active
    needed: NotRequired[bool]


_config: Table[LeaseItem] = Table("config")
_records: Table[AnyItem] = Table("config")
_activities: list[Callable[[str], bool]] = []


@dataclass(frozen=True, slots=True)
class Record:
    """The key of a resource's record; its leases are in the same partition."""

    pk: str
    sk: str


@dataclass(frozen=True, slots=True)
class ResourceLease:
    """``holder`` uses the resource from ``since`` to ``until`` (seconds since the epoch)."""

    holder: str
    since: float
    until: float


def set_activity(is_active: Callable[[str], bool]) -> None:
    """Set the function that tells whether a holder of leases is still active."""
    _activities[:] = [is_active]


def acquire(record: Record, lease: ResourceLease) -> AnyItem | None:
    """Acquire a lease and return the record as it is then; ``None`` if there is none.

    A new lease of the same holder replaces the former.
    """
    mark = dynamo.update(
        _records,
        record.pk,
        record.sk,
        "SET #stamp = :stamp",
        values={"stamp": dynamo.draw_revision()},
        condition="attribute_exists(#pk)",
    )
    try:
        dynamo.transact([mark, dynamo.put(_config, _to_item(record, lease))])
    except TransactionFailed:
        return None
    return _records.get(record.pk, record.sk)


def release(record: Record, holder: str) -> None:
    """Release the lease of ``holder``, if there is one."""
    _config.delete(record.pk, f"use#{holder}")


def release_when_inactive(record: Record, holder: str) -> None:
    """Let the lease of ``holder``, who does not need it any more, count while it is active."""
    now = clock.now()
    _config.put({**_to_item(record, ResourceLease(holder, now, now)), "needed": False})


def is_leased(record: Record) -> bool:
    """Tell whether there is a lease on the resource now."""
    now = clock.now()
    return any(_counts(lease, now) for lease in _leases(record))


def holders(record: Record) -> list[str]:
    """Return who still needs a lease on the resource, whether it counts now or not."""
    return [_holder(lease) for lease in _leases(record) if lease.get("needed", True)]


def _counts(lease: LeaseItem, now: float) -> bool:
    if now < lease["since"] or now >= lease["expires"]:
        return False
    return now < lease["until"] or any(is_active(_holder(lease)) for is_active in _activities)


def _holder(lease: LeaseItem) -> str:
    return lease["sk"].removeprefix("use#")


def _leases(record: Record) -> Iterable[LeaseItem]:
    return _config.query_all(
        "#pk = :pk AND begins_with(#sk, :leases)",
        {"pk": record.pk, "leases": "use#"},
        consistent=True,
    )


def unchanged(revision: str) -> dict[str, Any]:
    """Return, as keywords of a write, the condition that a record is as it was read."""
    return dynamo.if_unchanged("stamp", revision)


def _to_item(record: Record, lease: ResourceLease) -> LeaseItem:
    return {
        "pk": record.pk,
        "sk": f"use#{lease.holder}",
        "since": lease.since,
        "until": lease.until,
        "expires": int(lease.until) + _LONGEST_ACTIVITY_SECONDS,
    }
