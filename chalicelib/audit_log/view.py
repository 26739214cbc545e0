"""Show lines of the audit log as JSON and as CSV."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from chalicelib.core import clock
from chalicelib.core.audit import AuditItem
from chalicelib.core.json_types import Json

#: The columns of the CSV; ``changes`` is JSON
COLUMNS: Final = (
    *("id", "ts", "actor_type", "actor_id", "actor_label", "action", "path", "outcome"),
    *("resource", "resource_id", "subaccount_id", "changes", "ip", "request_id"),
)
#: What makes a spreadsheet read a cell as a formula
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n")


def line_view(line: AuditItem, labels: Mapping[str, str]) -> Json:
    """Return a line as the API shows it; ``labels`` are those of users, whom lines name by id."""
    return {
        "id": line["id"],
        "ts": clock.iso_ms(line["ts"]),
        "actor": {
            "type": line["actor_type"],
            "id": line["actor_id"],
            "label": line["actor_label"] or labels.get(line["actor_id"], ""),
        },
        "action": line["action"],
        "path": line["path"],
        "outcome": line["outcome"],
        "resource": line["resource"],
        "resource_id": line.get("resource_id"),
        "subaccount_id": line.get("subaccount_id"),
        "changes": json.loads(line["changes"]),
        "ip": line["ip"],
        "request_id": line["request_id"],
    }


def as_csv(views: Iterable[Json]) -> bytes:
    """Return views of lines as CSV with a head, as UTF-8."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(COLUMNS)
    writer.writerows(_row(view) for view in views)
    return text.getvalue().encode()


def _row(view: Json) -> Sequence[str]:
    actor = view["actor"]
    changes = json.dumps(view["changes"], ensure_ascii=False, separators=(",", ":"))
    flat = view | {f"actor_{name}": value for name, value in actor.items()} | {"changes": changes}
    return [_cell(flat[name]) for name in COLUMNS]


def _cell(value: Any) -> str:
    """Return a value as a cell that no spreadsheet takes for a formula."""
    text = "" if value is None else str(value)
    return f"'{text}" if text.startswith(_FORMULA) else text
