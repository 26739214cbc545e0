"""Read the audit log for tests."""

from __future__ import annotations

import json
from typing import Any

from chalicelib.core import audit, clock
from chalicelib.core.dynamo import AnyItem, Table

_table: Table[AnyItem] = Table("audit")


def lines(account: int = 1) -> list[dict[str, Any]]:
    """Return the lines of this month, as they were written, with their changes parsed."""
    key = {"pk": audit.partition(account, clock.now_ms())}
    items: list[dict[str, Any]] = [dict(each) for each in _table.query_all("#pk = :pk", key)]
    return [item | {"changes": json.loads(item["changes"])} for item in items]


def only_line(account: int = 1) -> dict[str, Any]:
    """Return the one line, and empty the log."""
    (line,) = lines(account)
    _table.delete(line["pk"], line["sk"])
    return line


def told(account: int = 1) -> tuple[str, str, str, dict[str, Any]]:
    """Return action, resource, its id and the changes of the one line, and empty the log."""
    line = only_line(account)
    return line["action"], line["resource"], line["resource_id"], line["changes"]
