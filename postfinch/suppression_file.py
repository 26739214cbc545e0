"""Read suppression entries from CSV, and load them in bulk with a report of what is refused."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from postfinch.http_api import Api, ApiError
from postfinch.json_types import Json

#: The entries of one request
BULK = 1000
PATH = "/suppression-list"
_NAMES = ("recipient", "type", "description", "list_id")
_OTHER_NAMES = {"email": "recipient", "address": "recipient"}
_FLAGS = ("transactional", "non_transactional")
#: Columns of exports that say nothing about what is to be stored
_IGNORED = ("source", "created", "updated", "subaccount_id")
_TRUE = ("true", "1", "yes")
_COMPLIANCE_STATUS = 403
_REFUSALS = (400, _COMPLIANCE_STATUS, 413, 422)


class ForeignColumns(ValueError):
    """The file has columns that no list of suppressions has; the text names them."""


class Row(NamedTuple):
    """An entry and the line of the file where it ends."""

    line: int
    entry: Json


@dataclass(slots=True)
class Report:
    """How many entries were loaded, and the line, recipient and reason of each that was not."""

    loaded: int = 0
    refusals: list[Json] = field(default_factory=list)

    def refuse(self, row: Row, reason: str) -> None:
        """Note an entry that was refused; those of one row for the same reason are one refusal."""
        recipient = row.entry.get("recipient", "")
        refusal = {"line": row.line, "recipient": recipient, "reason": reason}
        if refusal not in self.refusals[-1:]:
            self.refusals.append(refusal)


def rows_of(lines: Iterable[str], types: Sequence[str], list_id: str | None) -> Iterator[Row]:
    """Yield the entries of a CSV file; a row without a type is of each of ``types``.

    The first line may have the names of the columns: ``recipient`` (or ``email``), ``type``,
    ``description``, ``list_id``. Without it, the first column is the recipient. Raises
    :class:`ForeignColumns` for other columns: the file may be a list of customers.
    """
    reader = csv.reader(lines)
    names: list[str] | None = None
    for cells in reader:
        if not any(cell.strip() for cell in cells):
            continue
        if names is None:
            names = _column_names(cells)
            if "recipient" in names:
                _check_columns(names)
                continue
            names = ["recipient"]
        values = dict(zip(names, (cell.strip() for cell in cells), strict=False))
        entry = {name: values[name] for name in _NAMES if values.get(name)}
        if list_id:
            entry.setdefault("list_id", list_id)
        for type in _types(values) or types:
            yield Row(reader.line_num, entry | {"type": type})


def load(api: Api, rows: Iterable[Row]) -> Iterator[Report]:
    """Load entries in bulk, and yield the report so far after each request's worth of them."""
    report = Report()
    bulk: list[Row] = []
    for row in rows:
        bulk.append(row)
        if len(bulk) == BULK:
            _load(api, bulk, report)
            bulk = []
            yield report
    _load(api, bulk, report)
    yield report


def _load(api: Api, rows: list[Row], report: Report) -> None:
    """Load rows; if the service refuses them, halves of them, until the bad ones are alone."""
    if not rows:
        return
    try:
        answer: Json = api.document("PUT", PATH, {"recipients": [row.entry for row in rows]})
    except ApiError as error:
        if error.status not in _REFUSALS:
            raise
        if len(rows) == 1:
            report.refuse(rows[0], str(error))
            return
        half = len(rows) // 2
        _load(api, rows[:half], report)
        _load(api, rows[half:], report)
        return
    if answer.get("errors") and len(rows) > 1:
        # Entries of compliance stay as they are, and only a text names them: try each alone
        for row in rows:
            _load(api, [row], report)
        return
    report.loaded += len(rows)


def _column_names(cells: Sequence[str]) -> list[str]:
    names = [cell.strip().lstrip("\ufeff").lower() for cell in cells]
    return [_OTHER_NAMES.get(name, name) for name in names]


def _check_columns(names: Sequence[str]) -> None:
    columns = {*_NAMES, *_FLAGS, *_IGNORED, ""}
    if foreign := [name for name in names if name not in columns]:
        raise ForeignColumns(
            f"it has the columns {', '.join(foreign)}, which no list of suppressions has; expected"
            f" are {', '.join(_NAMES)}"
        )


def _types(values: Json) -> list[str]:
    """Return the type of a row, or the types that older exports flag."""
    if type := values.get("type"):
        return [type.lower()]
    return [name for name in _FLAGS if values.get(name, "").lower() in _TRUE]
