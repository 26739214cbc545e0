"""Read the lines of the audit log, which ``core.audit`` writes.

Access patterns of ``audit``:

- the lines of an account, newest first, by month →
  ``<account>#<yyyy-mm>`` / ``<ms, 13 digits>#<id>``
- the lines of one resource, newest first →
  ``<account>#<resource>#<resource id>`` / ``<ms, 13 digits>#<id>`` [by_resource]

Nothing here or elsewhere changes or deletes a line: they expire.
"""

from __future__ import annotations

from datetime import UTC, datetime

from chalicelib.core import audit
from chalicelib.core.audit import AuditItem
from chalicelib.core.dynamo import ItemPage, Table

_lines: Table[AuditItem] = Table("audit")


def of_month(account_id: int, low: str, high: str, limit: int) -> ItemPage[AuditItem]:
    """Return lines from position ``high`` back to ``low``, both included, of the month of ``high``.

    A position begins with the milliseconds of a line. The page may end before the month does.
    """
    key = audit.partition(account_id, moment_of(high))
    return _lines.query(
        "#pk = :pk AND #sk BETWEEN :low AND :high",
        {"pk": key, "low": low, "high": high},
        newest_first=True,
        limit=limit,
    )


def of_resource(
    account_id: int, resource: str, resource_id: str, low: str, high: str, limit: int
) -> ItemPage[AuditItem]:
    """Return the lines about one resource, as :func:`of_month` does, of any month."""
    return _lines.query(
        "#resource_key = :pk AND #sk BETWEEN :low AND :high",
        {
            "pk": audit.resource_key(account_id, resource, resource_id),
            "low": low,
            "high": high,
        },
        index="by_resource",
        newest_first=True,
        limit=limit,
    )


def moment_of(position: str) -> int:
    """Return the time in a position, in milliseconds."""
    return int(position[:13])


def month_start(moment_ms: int) -> int:
    """Return when the month (UTC) of a time began, in milliseconds."""
    day = datetime.fromtimestamp(moment_ms / 1000, UTC)
    first = day.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    return int(first.timestamp()) * 1000
