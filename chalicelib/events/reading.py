"""Events of some partitions, merged and filtered, newest first, as far as they are asked for.

Runs overlap in time. An event is handed on when no run that is still unread can hold a newer one;
the same event in two runs comes twice in a row and is handed on once.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import NamedTuple

from chalicelib.core.dynamo import Item
from chalicelib.events import day_index, places
from chalicelib.events.day_index import Day
from chalicelib.events.event_blocks import Conditions, Run, moment_of, position_at
from chalicelib.events.model import Event
from chalicelib.events.table import events

# Runs asked for at first, and how what is asked for grows: a page of a few events reads little, and
# a long walk reads the megabyte that a request can bring.
_FIRST_PAGE = 16
_GROWTH = 4
_LARGEST_PAGE = 1024


@dataclass(frozen=True, slots=True)
class Window:
    """A span of time in milliseconds: ``start`` belongs to it, ``end`` does not."""

    start: int
    end: int


class Match(NamedTuple):
    """An event that was found: its position, and where it is."""

    position: str
    run: Run
    row: int

    def event(self) -> Event:
        """Return the event with all its fields."""
        return self.run.event(self.row)


class Stored(NamedTuple):
    """A run as it is stored: its keys, and its events."""

    pk: str
    sk: str
    run: Run


def by_time(
    account_id: int,
    window: Window,
    conditions: Conditions | None = None,
    *,
    before: str = "",
    days: Sequence[Day] | None = None,
) -> Iterator[Match]:
    """Yield those of an account's events in a window that pass, newest first.

    ``before`` is the position behind which to go on; ``days`` is what is noted of the window's
    days, if that is known.
    """
    low, high = bounds(window, before)
    if low >= high:  # which a query would refuse as a range
        return
    if days is None:
        days = day_index.days(account_id, moment_of(low), moment_of(high))
    limit = _FIRST_PAGE
    for day in days:
        if places.day_of(moment_of(low)) <= day.name <= places.day_of(moment_of(high)):
            keys = [places.day(account_id, day.name, shard) for shard in day.shards]
            yield from _merged(keys, low, high, conditions or {}, limit)
            limit *= _GROWTH


def in_partitions(
    keys: Sequence[str], window: Window, conditions: Conditions | None = None, *, before: str = ""
) -> Iterator[Match]:
    """Yield those events of any of these partitions in a window that pass, newest first."""
    low, high = bounds(window, before)
    if low < high:
        yield from _merged(keys, low, high, conditions or {})


def stored_runs(
    key: str,
    low: str = "",
    high: str = "",
    *,
    limit: int = _FIRST_PAGE,
    consistent: bool = False,
) -> Iterator[Stored]:
    """Yield the runs of a partition that may have events from ``low`` up to ``high``, or all.

    ``limit`` is how many are asked for at first.
    """
    first, last = places.run_range(low or position_at(0), high or position_at(2**62))
    start: Item | None = None
    while True:
        page = events.query(
            "#pk = :key AND #sk BETWEEN :low AND :high",
            {"key": key, "low": first, "high": last},
            newest_first=True,
            limit=min(limit, _LARGEST_PAGE),
            start=start,
            consistent=consistent,
        )
        for item in page.items:
            yield Stored(item["pk"], item["sk"], Run(item["data"]))
        start, limit = page.next_key, limit * _GROWTH
        if start is None:
            return


def bounds(window: Window, before: str = "") -> tuple[str, str]:
    """Return the positions between which the events of a window are, those before ``before``."""
    low, high = position_at(window.start), position_at(window.end)
    return low, min(before, high) if before else high


def _merged(
    keys: Iterable[str], low: str, high: str, conditions: Conditions, limit: int = _FIRST_PAGE
) -> Iterator[Match]:
    waiting: list[Match] = []
    last = ""
    streams = [stored_runs(key, low, high, limit=limit) for key in keys]
    for stored in heapq.merge(*streams, key=itemgetter(1), reverse=True):
        newest = stored.sk.partition("#")[0]
        while waiting and waiting[-1].position > f"{newest}~":
            match = waiting.pop()
            if match.position != last:
                yield match
            last = match.position
        waiting += _matches(stored.run, low, high, conditions)
        waiting.sort(key=itemgetter(0))
    for match in reversed(waiting):
        if match.position != last:
            yield match
        last = match.position


def _matches(run: Run, low: str, high: str, conditions: Conditions) -> Iterator[Match]:
    rows = run.rows(conditions)
    if rows:
        positions = run.positions()
        for row in rows:
            if low <= positions[row] < high:
                yield Match(positions[row], run, row)
