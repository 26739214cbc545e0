"""Exact numbers of events, with what waits to be counted.

Counters lag behind by a fold. What waits is added, and of a fold in progress that part which the
counters do not have yet: each holds the number of the last fold it took. If another fold is fixed
while we look, what we saw waiting may be in the counters as well; then we look again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Final

from chalicelib.metrics import pending, reading
from chalicelib.metrics.counting import MAIN
from chalicelib.metrics.delta import Cell, Delta
from chalicelib.metrics.filters import EQUAL, Filter, Group, term
from chalicelib.metrics.levels import Level, Span, spans
from chalicelib.metrics.model import EVENT_COUNTERS, Counts, Values

MINUTE_MS: Final = 60_000

_MOST_TRIES = 10

#: Which counter: level, bucket and the one value that it is kept by
_Counter = tuple[Level, int, Values]


class Unsettled(Exception):
    """Counting went on faster than it could be looked at."""


@dataclass(slots=True)
class _Waiting:
    """What an account has waiting, and the number of its last fold."""

    seq: int
    fold: Delta = field(default_factory=Delta)
    rest: list[Delta] = field(default_factory=list)


def totals(
    account_id: int,
    filter_key: str | None,
    values: Collection[str] | None,
    from_ms: int,
    to_ms: int,
    types: Collection[str],
) -> int:
    """Return how many events of ``types`` were recorded between two whole minutes.

    ``filter_key`` and ``values`` narrow to some values of one dimension, by its name as a filter
    (``campaigns``); ``None`` is all mail. Exact as soon as the events are recorded. Takes three
    requests for what waits, and one or two for the counters of one value or of all mail. Raises
    ``KeyError`` for a type that is not counted.
    """
    if from_ms % MINUTE_MS or to_ms % MINUTE_MS:
        raise ValueError("totals are of whole minutes")
    wanted = _Wanted(
        _filter(filter_key, values),
        list(spans(from_ms // MINUTE_MS, to_ms // MINUTE_MS)),
        frozenset(EVENT_COUNTERS[kind] for kind in types),
    )
    for _ in range(_MOST_TRIES):
        waiting = _look(account_id)
        found = _add_up(account_id, wanted, waiting)
        if pending.last_seq(account_id) == waiting.seq:
            return found
    raise Unsettled


@dataclass(frozen=True, slots=True)
class _Wanted:
    filter: Filter
    spans: list[Span]
    codes: frozenset[str]

    def number(self, counts: Counts) -> int:
        return sum(counts.get(code, 0) for code in self.codes)

    def cells(self, delta: Delta) -> Iterator[tuple[_Counter, int]]:
        """Yield the counters that a delta is added to, of those that are read, and the numbers."""
        for cell, counts in delta.cells():
            if cell.facet == MAIN and self.filter.holds(cell.values):
                place = self._counter(cell)
                if place:
                    yield place, self.number(counts)

    def _counter(self, cell: Cell) -> _Counter | None:
        for span in self.spans:
            bucket = span.level.bucket(cell.minute)
            if span.first <= bucket < span.end:
                return span.level, bucket, self._kept(cell.values)
        return None

    def _kept(self, values: Values) -> Values:
        return reading.only(self.filter.positions, values)


def _filter(filter_key: str | None, values: Collection[str] | None) -> Filter:
    if filter_key is None or values is None:
        return Filter()
    return Filter((Group((term(filter_key, EQUAL, list(values)),)),))


def _look(account_id: int) -> _Waiting:
    found = _Waiting(pending.last_seq(account_id))
    for waiting in pending.of_account(account_id):
        if waiting.fold:
            found.fold = waiting.fold.delta()
        found.rest.append(Delta.merged(item["data"] for item in waiting.deltas))
    return found


def _add_up(account_id: int, wanted: _Wanted, waiting: _Waiting) -> int:
    total = 0
    folded: set[_Counter] = set()
    for row in reading.rows(account_id, wanted.spans, wanted.filter, consistent=True):
        total += wanted.number(row.counts)
        if row.seq == waiting.seq:
            folded.add((row.level, row.bucket, row.values))
    total += sum(n for place, n in wanted.cells(waiting.fold) if place not in folded)
    return total + sum(n for delta in waiting.rest for _, n in wanted.cells(delta))
