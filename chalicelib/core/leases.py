"""Keep a resource from being changed or deleted while somebody uses it.

A user takes a lease from ``since`` until it ends it, or until ``until``, so that a crash does not
block the resource for ever. Taking a lease also sets a new revision (attribute ``stamp``) in the
resource's record, on the condition that the record exists. A change of the record reads it, asks
:func:`in_use`, and writes on the condition that the revision is the one that was read
(:func:`unchanged`). So of a lease and a change at the same time one comes first and the other sees
it: no lease is missed, and nothing waits.

Access patterns of ``config``:

- the lease of one user, in the partition of the resource → ``<partition of the resource>`` /
  ``use#<user>``
- all leases of a resource → ``<partition of the resource>`` / ``use#*``
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from chalicelib.core import clock, dynamo
from chalicelib.core.dynamo import Item, Table, TransactionFailed

_config = Table("config")


@dataclass(frozen=True, slots=True)
class Record:
    """The key of a resource's record; its leases are in the same partition."""

    pk: str
    sk: str


@dataclass(frozen=True, slots=True)
class Use:
    """``user`` uses the resource from ``since`` to ``until`` (seconds since the epoch)."""

    user: str
    since: float
    until: float


def begin(record: Record, use: Use) -> Item | None:
    """Take a lease and return the record as it is then; ``None`` if there is none.

    A new lease of the same user replaces the former.
    """
    mark = dynamo.update(
        _config,
        record.pk,
        record.sk,
        "SET #stamp = :stamp",
        values={"stamp": dynamo.draw_revision()},
        condition="attribute_exists(#pk)",
    )
    try:
        dynamo.transact([mark, dynamo.put(_config, _item(record, use))])
    except TransactionFailed:
        return None
    return _config.get(record.pk, record.sk)


def end(record: Record, user: str) -> None:
    """End the lease of ``user``, if there is one."""
    _config.delete(record.pk, f"use#{user}")


def in_use(record: Record) -> bool:
    """Tell whether there is a lease of the resource now."""
    now = clock.now()
    uses = _config.query_all(
        "#pk = :pk AND begins_with(#sk, :uses)",
        {"pk": record.pk, "uses": "use#"},
        consistent=True,
    )
    return any(use["since"] <= now < use["until"] for use in uses)


def unchanged(revision: str) -> dict[str, Any]:
    """Return, as keywords of a write, the condition that a record is as it was read."""
    return dynamo.if_unchanged("stamp", revision)


def _item(record: Record, use: Use) -> Item:
    return {
        "pk": record.pk,
        "sk": f"use#{use.user}",
        "since": use.since,
        "until": use.until,
        "expires": int(use.until) + 1,
    }
