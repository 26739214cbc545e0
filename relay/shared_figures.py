"""Share the figures of all processes of a relay, so that one of them can show the sums.

The figures lie in memory that processes share if they are forked after it is made. Each process
writes its own; one that takes the place of another goes on from the other's figures, so a sum never
falls.
"""

from __future__ import annotations

import mmap
from collections.abc import Sequence
from dataclasses import fields

from relay.counters import Totals

TOTALS = tuple(each.name for each in fields(Totals))
OPEN = "connections_open"
_CELLS = len(TOTALS) + 1
_CELL_SIZE = 8


class SharedFigures:
    """The figures of some processes, each with the same listeners.

    ``services`` has the service of each listener.
    """

    def __init__(self, services: Sequence[str], processes: int) -> None:
        self._services = list(services)
        self._processes = processes
        size = processes * len(self._services) * _CELLS * _CELL_SIZE
        self._cells = memoryview(mmap.mmap(-1, size)).cast("q")

    def writer(self, process: int, listener: int) -> FigureWriter:
        """Return what writes the figures of a listener in a process."""
        return FigureWriter(self._slot(process, listener))

    def sums(self) -> dict[str, dict[str, int]]:
        """Return, for each service, its totals by name, and how many clients are connected."""
        sums = {service: dict.fromkeys((*TOTALS, OPEN), 0) for service in self._services}
        for process in range(self._processes):
            for listener, service in enumerate(self._services):
                slot = self._slot(process, listener)
                for name, value in zip((*TOTALS, OPEN), slot, strict=True):
                    sums[service][name] += value
        return sums

    def _slot(self, process: int, listener: int) -> memoryview[int]:
        start = (process * len(self._services) + listener) * _CELLS
        return self._cells[start : start + _CELLS]


class FigureWriter:
    """Writes the figures of one listener in one process."""

    def __init__(self, slot: memoryview[int]) -> None:
        self._slot = slot
        self._base = slot[:-1].tolist()

    def write(self, totals: Totals, connections_open: int) -> None:
        """Write the totals since this process began, and how many clients are connected."""
        for place, name in enumerate(TOTALS):
            self._slot[place] = self._base[place] + getattr(totals, name)
        self._slot[-1] = connections_open
