"""Move a whole service from one place to another, in as many passes as it takes.

A pass copies what has changed at the source since the pass before, while both sides may work. In
the order of docs/moving.md, the first pass copies everything, then the name of the service is
switched, the source finishes what it has, and the last pass copies the rest and hands scheduled
work over.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from infrastructure.machine.moving import administrators, fresh, totals, work
from infrastructure.machine.moving.checkpoint import Checkpoint
from infrastructure.machine.moving.deletions import delete_items
from infrastructure.machine.moving.item_copy import ItemCopy
from infrastructure.machine.moving.kinds import TABLES
from infrastructure.machine.moving.object_copy import OBJECTS, ObjectCopy
from infrastructure.machine.moving.place import Place
from infrastructure.machine.moving.sides import Sides, Tally
from infrastructure.machine.moving.totals import Total

#: Tells a person what happens: a line, which replaces the line before if the flag is set
Say = Callable[[str, bool], None]


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a pass ended.

    ``under_way`` is what only the source can finish, by queue. ``scheduled`` is how many pieces of
    work are scheduled at the source, and ``transferred`` how many were handed over.
    """

    totals: Sequence[Total]
    under_way: dict[str, int]
    scheduled: int
    transferred: int
    is_idle: bool
    conflicts: Sequence[str] = field(default_factory=list)

    @property
    def is_complete(self) -> bool:
        """Tell whether nothing is at the source that the target does not have."""
        new = sum(total.new for total in self.totals)
        return not (new or self.under_way or self.scheduled)

    @property
    def is_right(self) -> bool:
        """Tell whether all that the source had arrived, and is all if nothing works there."""
        missing = sum(total.missing for total in self.totals)
        return not missing and (self.is_complete or not self.is_idle)


def move(source: Place, target: Place, path: Path, say: Say) -> Outcome:
    """Make one pass, or the rest of an interrupted one; ``path`` is that of the checkpoint.

    Raises ``MoveRefused``.
    """
    checkpoint = Checkpoint(path)
    try:
        fresh.begin(source, target, checkpoint)
        target.adopt(source)
        number = checkpoint.begin_pass()
        sides = Sides(source, target, checkpoint, number)
        conflicts = _copy(sides, say)
        administrators.recount(target)
        remaining = work.under_way(source)
        transferred = work.hand_over(sides) if source.is_idle and not remaining else 0
        say("Counting both sides", False)
        outcome = Outcome(
            totals.compare(sides),
            remaining,
            sum(1 for _ in work.scheduled(source)),
            transferred,
            source.is_idle,
            conflicts,
        )
        checkpoint.end_pass(number)
        return outcome
    finally:
        checkpoint.close()


def _copy(sides: Sides, say: Say) -> list[str]:
    """Copy objects, then the items that may name them; return what both sides have changed."""
    conflicts: list[str] = []
    for name in (OBJECTS, *TABLES):
        tally = Tally()
        show = _Progress(name, tally, say)
        if name == OBJECTS:
            ObjectCopy(sides).run(tally, show)
        else:
            ItemCopy(sides).run(name, tally, show)
            delete_items(sides, name, tally)
        show(is_last=True)
        conflicts += tally.conflicts
    return conflicts


class _Progress:
    """Say how far the copy of a table has come."""

    def __init__(self, name: str, tally: Tally, say: Say) -> None:
        self._name = name
        self._tally = tally
        self._say = say
        self._start = time.monotonic()

    def __call__(self, *, is_last: bool = False) -> None:
        tally, seconds = self._tally, max(time.monotonic() - self._start, 0.001)
        speed = f"{tally.entries / seconds:,.0f} a second"
        deletions = f", {tally.deletions:,} deleted" if tally.deletions else ""
        numbers = f"{tally.entries:,} read, {tally.copies:,} copied{deletions}, {speed}"
        self._say(f"  {self._name:<14}{numbers}", not is_last)
