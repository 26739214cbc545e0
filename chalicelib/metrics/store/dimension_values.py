"""Keep the values that the dimensions of an account had, by day (UTC).

Access patterns of ``metrics``:

- the values of a dimension in a month → ``<account>#values#<dimension>#<yyyymm>`` / ``<value>``

Adding a value again changes nothing, and each process adds a value once a day.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Final, NotRequired

from chalicelib.core import caches, dynamo
from chalicelib.core.dynamo import Keyed, Table, Write
from chalicelib.core.settings import settings
from chalicelib.metrics.delta import Delta
from chalicelib.metrics.levels import DAY
from chalicelib.metrics.model import LISTED, POSITION, Dimension
from chalicelib.metrics.store import counters


class DimensionValueItem(Keyed):
    """A value that a dimension had in a month."""

    #: The days of the month, as two digits
    days: set[str]
    #: The value, if it is too long for the key
    label: NotRequired[str]
    expires: int


table: Table[DimensionValueItem] = Table("metrics")

_MOST_REMEMBERED: Final = 100_000
_MOST_ACTIONS: Final = 100
_LONGEST_MONTH = timedelta(days=31)

#: Account, dimension, value, day since the epoch
DayValue = tuple[int, str, str, int]

_cache: set[DayValue] = set()


def add(account_id: int, delta: Delta) -> None:
    """Add the values of a delta; values that this process added before are not written again."""
    new = {
        (account_id, dimension.name, value, DAY.bucket(cell.minute))
        for cell, _ in delta.cells()
        for dimension in LISTED
        if (value := cell.values[POSITION[dimension.name]])
    } - _cache
    actions = _additions(new)
    for start in range(0, len(actions), _MOST_ACTIONS):
        dynamo.transact(actions[start : start + _MOST_ACTIONS])
    if len(_cache) + len(new) > _MOST_REMEMBERED:
        _cache.clear()
    _cache.update(new)


def values(account_id: int, dimension: Dimension, start: int, end: int) -> list[str]:
    """Return the values that a dimension had on the days of a window (minutes), sorted."""
    first, last = DAY.bucket(start), DAY.bucket(end - 1)
    texts: set[str] = set()
    for month, days in _months(first, last):
        pk = _partition(account_id, dimension.name, month)
        for item in table.query_all("#pk = :pk", {"pk": pk}):
            if days & item["days"]:
                texts.add(item.get("label") or item["sk"])
    return sorted(texts)


@caches.register
def clear_cache() -> None:
    """Forget what this process has added (tests start with empty tables)."""
    _cache.clear()


def _additions(new: set[DayValue]) -> list[Write]:
    days: dict[tuple[str, str], set[str]] = defaultdict(set)
    for account_id, dimension, value, day in new:
        date = _date(day)
        days[_partition(account_id, dimension, f"{date:%Y%m}"), value].add(f"{date:%d}")
    return [_addition(pk, value, dates) for (pk, value), dates in days.items()]


def _addition(pk: str, value: str, days: set[str]) -> Write:
    text, label = counters.key_text(value)
    month = datetime.strptime(pk[-6:], "%Y%m").replace(tzinfo=UTC)
    expires = int((month + _LONGEST_MONTH).timestamp()) + settings().metrics_retention
    sets = "#expires = :expires" + (", #label = :label" if label else "")
    return dynamo.update(
        table,
        pk,
        text,
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
