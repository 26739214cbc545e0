"""Count events exactly: add the pending deltas to the counters.

Counters do not have the pending deltas yet, and not all of a rollup in progress: each of them holds
the number of the last rollup that it has. If another rollup begins while the counters are read, the
pending deltas that were read may be in the counters as well; then everything is read again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Final

from chalicelib.metrics import reading
from chalicelib.metrics.counting import MAIN
from chalicelib.metrics.delta import Cell, Delta
from chalicelib.metrics.filters import EQUAL, Filter, Group, term
from chalicelib.metrics.levels import Level, Span, spans
from chalicelib.metrics.model import EVENT_COUNTERS, Counts, Values
from chalicelib.metrics.store import pending

MINUTE_MS: Final = 60_000

_MOST_TRIES = 10

#: A counter by its level, its bucket and the values that it counts
_Counter = tuple[Level, int, Values]


class Unsettled(Exception):
    """Rollups began faster than the counters could be read."""


@dataclass(slots=True)
class _Pending:
    """The rollup in progress and the pending deltas of an account, and its last rollup's number."""

    seq: int
    rollup: Delta = field(default_factory=Delta)
    deltas: list[Delta] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Query:
    """The mail, the time and the counts that a total is about."""

    filter: Filter
    spans: list[Span]
    codes: frozenset[str]

    def number(self, counts: Counts) -> int:
        return sum(counts.get(code, 0) for code in self.codes)

    def cells(self, delta: Delta) -> Iterator[tuple[_Counter, int]]:
        """Yield the counters of the query that a delta is added to, and the numbers."""
        for cell, counts in delta.cells():
            if cell.facet == MAIN and self.filter.holds(cell.values):
                counter = self._counter(cell)
                if counter:
                    yield counter, self.number(counts)

    def _counter(self, cell: Cell) -> _Counter | None:
        for span in self.spans:
            bucket = span.level.bucket(cell.minute)
            if span.first <= bucket < span.end:
                return span.level, bucket, reading.only(self.filter.positions, cell.values)
        return None


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
    requests for pending deltas, and one or two for the counters of one value or of all mail. Raises
    ``KeyError`` for a type that is not counted.
    """
    if from_ms % MINUTE_MS or to_ms % MINUTE_MS:
        raise ValueError("totals are of whole minutes")
    query = _Query(
        _filter(filter_key, values),
        list(spans(from_ms // MINUTE_MS, to_ms // MINUTE_MS)),
        frozenset(EVENT_COUNTERS[kind] for kind in types),
    )
    for _ in range(_MOST_TRIES):
        pending_deltas = _read_pending(account_id)
        total = _add_up(account_id, query, pending_deltas)
        if pending.last_seq(account_id) == pending_deltas.seq:
            return total
    raise Unsettled


def _filter(filter_key: str | None, values: Collection[str] | None) -> Filter:
    if filter_key is None or values is None:
        return Filter()
    return Filter((Group((term(filter_key, EQUAL, list(values)),)),))


def _read_pending(account_id: int) -> _Pending:
    state = _Pending(pending.last_seq(account_id))
    for group in pending.of_account(account_id):
        if group.rollup:
            state.rollup = group.rollup.delta()
        state.deltas.append(Delta.merged(item["data"] for item in group.deltas))
    return state


def _add_up(account_id: int, query: _Query, pending_deltas: _Pending) -> int:
    total = 0
    rolled_up: set[_Counter] = set()
    for row in reading.rows(account_id, query.spans, query.filter, consistent=True):
        total += query.number(row.counts)
        if row.seq == pending_deltas.seq:
            rolled_up.add((row.level, row.bucket, row.values))
    total += sum(
        number for counter, number in query.cells(pending_deltas.rollup) if counter not in rolled_up
    )
    return total + sum(n for delta in pending_deltas.deltas for _, n in query.cells(delta))
