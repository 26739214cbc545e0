"""Sum up the counts of a batch of events by minute, dimensions, facet and label.

Deltas are stored packed, and merged before they are added to counters, so that a thousand events of
one campaign are a few additions.
"""

from __future__ import annotations

import json
import zlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, Self

from chalicelib.core.message_event import Event
from chalicelib.metrics.counting import counts_of
from chalicelib.metrics.model import COUNTS_IN_USAGE, Counts, Values, add, values_of

_MINUTE_MS = 60_000


class Cell(NamedTuple):
    """The key of a count: minutes since the epoch, dimensions, facet and label."""

    minute: int
    values: Values
    facet: str
    label: str


class Delta:
    """Counts of an account, by cell.

    ``recipients`` are those whom the account's usage has not counted yet, by minute.
    """

    def __init__(self) -> None:
        self._cells: dict[Cell, Counts] = {}
        self.recipients: Counter[int] = Counter()

    def __bool__(self) -> bool:
        return bool(self._cells or self.recipients)

    def add(self, event: Event, first: Collection[str] = ()) -> None:
        """Count an event; ``first`` are those of its marks that are new (``counting``)."""
        minute, values = event["timestamp"] // _MINUTE_MS, values_of(event)
        if event.get(COUNTS_IN_USAGE):
            self.recipients[minute] += 1
        for facet, label, counts in counts_of(event, first):
            self._add(Cell(minute, values, facet, label), counts)

    def cells(self) -> Iterator[tuple[Cell, Counts]]:
        """Yield each cell with its counts."""
        yield from self._cells.items()

    def pack(self) -> bytes:
        """Return the delta as bytes."""
        indexes: dict[Values, int] = {}
        rows = [
            (cell.minute, indexes.setdefault(cell.values, len(indexes)), *cell[2:], counts)
            for cell, counts in self._cells.items()
        ]
        parts: list[Any] = [list(indexes), rows]
        if self.recipients:
            parts.append(list(self.recipients.items()))
        text = json.dumps(parts, ensure_ascii=False, separators=(",", ":"))
        # JSON may hold half a surrogate pair, UTF-8 may not
        return zlib.compress(text.encode("utf-8", "replace"), 6)

    def pack_in_parts(self, largest: int) -> Iterator[bytes]:
        """Yield packed deltas of at most ``largest`` bytes; one cell is never divided."""
        data = self.pack()
        if len(data) <= largest or len(self._cells) <= 1:
            yield data
            return
        cells = list(self._cells.items())
        for half_cells in (cells[: len(cells) // 2], cells[len(cells) // 2 :]):
            half = type(self)()
            half._cells = dict(half_cells)
            if half_cells[0] == cells[0]:
                half.recipients = self.recipients
            yield from half.pack_in_parts(largest)

    @classmethod
    def merged(cls, deltas: Iterable[bytes]) -> Self:
        """Return the sum of packed deltas."""
        delta = cls()
        for data in deltas:
            values, rows, *more = json.loads(zlib.decompress(data))
            for recipients in more:
                delta.recipients.update(dict(recipients))
            tuples = [tuple(each) for each in values]
            for minute, index, facet, label, counts in rows:
                delta._add(Cell(minute, tuples[index], facet, label), counts)
        return delta

    def _add(self, cell: Cell, counts: Mapping[str, int]) -> None:
        add(self._cells.setdefault(cell, {}), counts)
