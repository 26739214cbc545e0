"""What a batch of events counted: numbers by minute, dimensions and label, and their packed form.

Deltas are merged before they are added to counters, so that a thousand events of one campaign are
a few additions.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, Self

from chalicelib.metrics.counting import counted
from chalicelib.metrics.model import Counts, Values, add, values_of

_MINUTE_MS = 60_000


class Cell(NamedTuple):
    """What a number is counted under: minutes since the epoch, dimensions, facet and label."""

    minute: int
    values: Values
    facet: str
    label: str


class Delta:
    """Counts of an account, by cell."""

    def __init__(self) -> None:
        self._cells: dict[Cell, Counts] = {}

    def __bool__(self) -> bool:
        return bool(self._cells)

    def add(self, event: Mapping[str, Any], first: Collection[str] = ()) -> None:
        """Count an event; ``first`` are those of its marks that are new (``counting``)."""
        minute, values = event["timestamp"] // _MINUTE_MS, values_of(event)
        for facet, label, counts in counted(event, first):
            self._add(Cell(minute, values, facet, label), counts)

    def cells(self) -> Iterator[tuple[Cell, Counts]]:
        """Yield the cells and what was counted in each."""
        yield from self._cells.items()

    def pack(self) -> bytes:
        """Return the delta as bytes."""
        places: dict[Values, int] = {}
        rows = [
            (cell.minute, places.setdefault(cell.values, len(places)), *cell[2:], counts)
            for cell, counts in self._cells.items()
        ]
        text = json.dumps([list(places), rows], ensure_ascii=False, separators=(",", ":"))
        # Half of a surrogate pair, which JSON may hold, is nothing that a table could
        return zlib.compress(text.encode("utf-8", "replace"), 6)

    def pack_in_parts(self, largest: int) -> Iterator[bytes]:
        """Yield the delta as packed deltas of at most ``largest`` bytes, as far as cells allow."""
        data = self.pack()
        if len(data) <= largest or len(self._cells) == 1:
            yield data
            return
        cells = list(self._cells.items())
        for part in (cells[: len(cells) // 2], cells[len(cells) // 2 :]):
            half = type(self)()
            half._cells = dict(part)
            yield from half.pack_in_parts(largest)

    @classmethod
    def merged(cls, packed: Iterable[bytes]) -> Self:
        """Return the sum of packed deltas."""
        whole = cls()
        for data in packed:
            values, rows = json.loads(zlib.decompress(data))
            tuples = [tuple(each) for each in values]
            for minute, place, facet, label, counts in rows:
                whole._add(Cell(minute, tuples[place], facet, label), counts)
        return whole

    def _add(self, cell: Cell, counts: Mapping[str, int]) -> None:
        add(self._cells.setdefault(cell, {}), counts)
