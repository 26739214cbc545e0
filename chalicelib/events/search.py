"""Find the events of some partitions that pass filters, newest first, as the caller asks for them.

Blocks overlap in time. An event is handed on when no unread block can hold a newer one. An event
that is in two blocks comes twice in a row and is handed on once.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter
from typing import NamedTuple

from chalicelib.core.message_event import Event
from chalicelib.events.event_blocks import Conditions, EventBlock
from chalicelib.events.positions import EventWindow, moment_of
from chalicelib.events.store import blocks, day_index, partitions
from chalicelib.events.store.day_index import Day


class Match(NamedTuple):
    """An event that passes the filters: its position, its block, and its row there."""

    position: str
    block: EventBlock
    row: int

    def event(self) -> Event:
        """Return the event with all its fields."""
        return self.block.event(self.row)


def by_time(
    account_id: int,
    window: EventWindow,
    conditions: Conditions | None = None,
    *,
    before: str = "",
    days: Sequence[Day] | None = None,
) -> Iterator[Match]:
    """Yield those of an account's events in a window that pass, newest first.

    ``before`` is the position after which to begin; ``days`` are the window's days, if the caller
    has read them.
    """
    low, high = window.positions(before)
    if low >= high:  # DynamoDB refuses such a range
        return
    first_ms, last_ms = moment_of(low), moment_of(high)
    if days is None:
        days = day_index.days(account_id, first_ms, last_ms)
    limit = blocks.FIRST_PAGE
    for day in days:
        if day_index.day_of(first_ms) <= day.name <= day_index.day_of(last_ms):
            keys = [partitions.day(account_id, day.name, shard) for shard in day.shards]
            yield from _merged(keys, low, high, conditions or {}, limit)
            limit *= blocks.GROWTH


def in_partitions(
    keys: Sequence[str],
    window: EventWindow,
    conditions: Conditions | None = None,
    *,
    before: str = "",
) -> Iterator[Match]:
    """Yield those events of any of these partitions in a window that pass, newest first."""
    low, high = window.positions(before)
    if low < high:
        yield from _merged(keys, low, high, conditions or {}, blocks.FIRST_PAGE)


def _merged(
    keys: Iterable[str], low: str, high: str, conditions: Conditions, limit: int
) -> Iterator[Match]:
    pending: list[Match] = []
    last = ""
    streams = [blocks.read(key, low, high, limit=limit) for key in keys]
    for stored_block in heapq.merge(*streams, key=itemgetter(1), reverse=True):
        newest = stored_block.sk.partition("#")[0]
        while pending and pending[-1].position > f"{newest}~":
            match = pending.pop()
            if match.position != last:
                yield match
            last = match.position
        pending += _matches(stored_block.block, low, high, conditions)
        pending.sort(key=itemgetter(0))
    for match in reversed(pending):
        if match.position != last:
            yield match
        last = match.position


def _matches(block: EventBlock, low: str, high: str, conditions: Conditions) -> Iterator[Match]:
    rows = block.rows(conditions)
    if rows:
        positions = block.positions()
        for row in rows:
            if low <= positions[row] < high:
                yield Match(positions[row], block, row)
