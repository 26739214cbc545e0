"""Who uses a resource now, so that it is not changed or deleted under them.

A user notes a *use*: from ``since`` on, until it is ended, or until ``until`` so that a crash does
not block for ever. Noting it also marks the resource's record (``stamp``), on the condition that
the record exists. Whoever changes the record reads it, asks :func:`in_use`, and writes on the
condition that the stamp is still the one that was read (:func:`unchanged`). So of a use and a
change at the same time one comes first and the other sees it: no use is missed, and nothing waits.

Access patterns (table ``config``, in the partition of the resource):

- the use of one user → ``sk = use#<user>``
- all uses of a resource → ``sk`` begins with ``use#``
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import Any

from chalicelib.core import clock, dynamo
from chalicelib.core.dynamo import Item, Table, TransactionFailed

_config = Table("config")


@dataclass(frozen=True, slots=True)
class Record:
    """Where a resource's record is kept; its uses are kept in the same partition."""

    pk: str
    sk: str


@dataclass(frozen=True, slots=True)
class Use:
    """``user`` uses the resource from ``since`` to ``until`` (seconds since the epoch)."""

    user: str
    since: float
    until: float


def begin(record: Record, use: Use) -> Item | None:
    """Note a use and return the record as it is then; ``None`` if there is none.

    Noting it again for the same user replaces the former.
    """
    mark = dynamo.update(
        _config,
        record.pk,
        record.sk,
        "SET #stamp = :stamp",
        values={"stamp": draw_stamp()},
        condition="attribute_exists(#pk)",
    )
    try:
        dynamo.transact([mark, dynamo.put(_config, _item(record, use))])
    except TransactionFailed:
        return None
    return _config.get(record.pk, record.sk)


def end(record: Record, user: str) -> None:
    """Forget the use of ``user``, if there is one."""
    _config.delete(record.pk, f"use#{user}")


def in_use(record: Record) -> bool:
    """Tell whether somebody uses the resource now."""
    now = clock.now()
    uses = _config.query_all(
        "#pk = :pk AND begins_with(#sk, :uses)",
        {"pk": record.pk, "uses": "use#"},
        consistent=True,
    )
    return any(use["since"] <= now < use["until"] for use in uses)


def draw_stamp() -> str:
    """Draw the stamp that a record gets with each change."""
    return secrets.token_hex(8)


def unchanged(stamp: str) -> dict[str, Any]:
    """Return, as keywords of a write, the condition that a record is still as it was read."""
    return {"condition": "#stamp = :seen", "values": {"seen": stamp}}


def _item(record: Record, use: Use) -> Item:
    return {
        "pk": record.pk,
        "sk": f"use#{use.user}",
        "since": use.since,
        "until": use.until,
        "expires": int(use.until) + 1,
    }
