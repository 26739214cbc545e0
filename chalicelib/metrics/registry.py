"""Which values the dimensions of an account had, by day (UTC).

Access patterns (table ``metrics``):

- the values of a dimension in a month → ``pk = <account>#values#<dimension>#<yyyymm>``,
  ``sk = <value>``; the item holds the days, and the value as ``label`` if it is too long for a key

Noting a value again changes nothing, and a process notes each once a day.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Final

from chalicelib.core import caches, dynamo
from chalicelib.core.dynamo import Write
from chalicelib.core.settings import settings
from chalicelib.metrics import counters
from chalicelib.metrics.delta import Delta
from chalicelib.metrics.levels import DAY
from chalicelib.metrics.model import LISTED, POSITION, Dimension

_MOST_REMEMBERED: Final = 100_000
_MOST_ACTIONS: Final = 100
_LONGEST_MONTH = timedelta(days=31)

#: Account, dimension, value, day since the epoch
Noted = tuple[int, str, str, int]

_noted: set[Noted] = set()


def note(account_id: int, delta: Delta) -> None:
    """Note the values that were counted; nothing is written of what this process noted before."""
    new = {
        (account_id, dimension.name, value, DAY.bucket(cell.minute))
        for cell, _ in delta.cells()
        for dimension in LISTED
        if (value := cell.values[POSITION[dimension.name]])
    } - _noted
    actions = _additions(new)
    for start in range(0, len(actions), _MOST_ACTIONS):
        dynamo.transact(actions[start : start + _MOST_ACTIONS])
    if len(_noted) + len(new) > _MOST_REMEMBERED:
        _noted.clear()
    _noted.update(new)


def values(account_id: int, dimension: Dimension, start: int, end: int) -> list[str]:
    """Return the values that a dimension had on the days of a window (minutes), sorted."""
    first, last = DAY.bucket(start), DAY.bucket(end - 1)
    found: set[str] = set()
    for month, days in _months(first, last):
        pk = _partition(account_id, dimension.name, month)
        for item in counters.table.query_all("#pk = :pk", {"pk": pk}):
            if days & item["days"]:
                found.add(item.get("label") or item["sk"])
    return sorted(found)


@caches.register
def clear_cache() -> None:
    """Forget what this process has noted (tests start with empty tables)."""
    _noted.clear()


def _additions(new: set[Noted]) -> list[Write]:
    days: dict[tuple[str, str], set[str]] = defaultdict(set)
    for account_id, dimension, value, day in new:
        date = _date(day)
        days[_partition(account_id, dimension, f"{date:%Y%m}"), value].add(f"{date:%d}")
    return [_addition(pk, value, found) for (pk, value), found in days.items()]


def _addition(pk: str, value: str, days: set[str]) -> Write:
    key, label = counters.short(value)
    month = datetime.strptime(pk[-6:], "%Y%m").replace(tzinfo=UTC)
    expires = int((month + _LONGEST_MONTH).timestamp()) + settings().metrics_retention
    sets = "#expires = :expires" + (", #label = :label" if label else "")
    return dynamo.update(
        counters.table,
        pk,
        key,
        f"ADD #days :days SET {sets}",
        values={"days": days, "expires": expires} | ({"label": label} if label else {}),
    )


def _months(first: int, last: int) -> Iterator[tuple[str, set[str]]]:
    """Yield the months of a range of days, each with its days in the range."""
    months: dict[str, set[str]] = defaultdict(set)
    for day in range(first, last + 1):
        date = _date(day)
        months[f"{date:%Y%m}"].add(f"{date:%d}")
    yield from months.items()


def _partition(account_id: int, dimension: str, month: str) -> str:
    return f"{account_id}#values#{dimension}#{month}"


def _date(day: int) -> datetime:
    return datetime.fromtimestamp(day * 86_400, UTC)
