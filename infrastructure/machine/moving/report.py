"""Tell a person how a pass ended, and what comes next."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from infrastructure.machine.moving import totals, work
from infrastructure.machine.moving.kinds import TABLES, Kind
from infrastructure.machine.moving.object_copy import OBJECTS, keys_of
from infrastructure.machine.moving.place import Place
from infrastructure.machine.moving.service import Outcome

_MOST_NAMES = 10


def lines(outcome: Outcome) -> Iterator[str]:
    """Yield the lines about a pass."""
    yield f"  {'':<14}{'source':>12}{'target':>12}"
    yield from (total.line() for total in outcome.totals)
    if outcome.conflicts:
        yield f"{len(outcome.conflicts):,} entries were changed on both sides; the target's stay:"
        yield from (f"  {name}" for name in outcome.conflicts[:_MOST_NAMES])
        if len(outcome.conflicts) > _MOST_NAMES:
            yield f"  and {len(outcome.conflicts) - _MOST_NAMES:,} more"
    if outcome.transferred:
        yield f"Scheduled work handed over: {outcome.transferred:,}"
    yield from _remaining(outcome)


def preview(source: Place) -> Iterator[str]:
    """Yield what a move would take, without writing anything."""
    yield f"A move from {source.name} takes:"
    yield f"  {OBJECTS:<14}{len(keys_of(source)):>12,}"
    work_items = places = 0
    for table in TABLES:
        numbers = totals.count(source, table)
        work_items += numbers[Kind.WORK]
        places += numbers[Kind.PLACE]
        moving = sum(numbers.values()) - numbers[Kind.WORK] - numbers[Kind.PLACE]
        yield f"  {table:<14}{moving:>12,}"
    yield f"  {'scheduled':<14}{work_items:>12,}   handed over by the last copy"
    yield f"  {'not moved':<14}{places:>12,}   belongs to the place"
    yield from _queues(work.under_way(source))


def _remaining(outcome: Outcome) -> Iterator[str]:
    """Yield what is left to do."""
    yield from _queues(outcome.under_way)
    missing = sum(total.missing for total in outcome.totals)
    if missing:
        yield f"NOT COMPLETE: {missing:,} entries are missing at the target. Move again."
    elif outcome.is_complete and outcome.is_idle:
        yield "Complete: the target has everything, and nothing is under way at the source."
    elif outcome.is_idle:
        yield (
            "NOT COMPLETE: start the source again, wait until its queues are empty, stop it, and "
            "move again."
        )
    elif outcome.under_way:
        yield (
            "The source works. Switch the name to the target, wait until the queues of the source "
            "are empty, stop it, and move again."
        )
    else:
        yield (
            "The source works, and its queues are empty. When the name leads to the target, stop "
            "the source, and move again."
        )


def _queues(numbers: Mapping[str, int]) -> Iterator[str]:
    if numbers:
        yield "Under way at the source:"
        yield from (f"  {name:<30}{number:>8,}" for name, number in numbers.items())
    else:
        yield "Under way at the source: nothing, its queues are empty."
