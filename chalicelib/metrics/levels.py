"""Divide time into the buckets of counters: minutes, hours and days of UTC.

Times are whole minutes since the epoch. A window consists of as few buckets as possible: whole
days, and hours and minutes at its ends.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple


class Level(NamedTuple):
    """A length of buckets, in ``minutes``.

    A partition holds ``together`` buckets of all values of one dimension, or ``apart`` of all
    combinations of values, of which there may be many more.
    """

    name: str
    minutes: int
    together: int
    apart: int

    def bucket(self, minute: int) -> int:
        """Return the number of the bucket that a minute is in."""
        return minute // self.minutes


MINUTE: Final = Level("minute", 1, 240, 60)
HOUR: Final = Level("hour", 60, 192, 24)
DAY: Final = Level("day", 1440, 64, 32)
LEVELS: Final = (MINUTE, HOUR, DAY)


class Span(NamedTuple):
    """The buckets of a level from ``first`` to before ``end``."""

    level: Level
    first: int
    end: int


def spans(start: int, end: int, coarsest: Level = DAY) -> Iterator[Span]:
    """Yield the buckets, up to ``coarsest``, that make up the minutes from ``start`` to ``end``."""
    finer = LEVELS[: LEVELS.index(coarsest)]
    first, last = -(-start // coarsest.minutes), end // coarsest.minutes
    if first > last or (first == last and finer):
        if finer and start < end:
            yield from spans(start, end, finer[-1])
        return
    if finer:
        yield from spans(start, first * coarsest.minutes, finer[-1])
    if first < last:
        yield Span(coarsest, first, last)
    if finer:
        yield from spans(last * coarsest.minutes, end, finer[-1])


def coarsest_for(*minutes: int) -> Level:
    """Return the coarsest level at whose boundaries all these minutes lie."""
    for level in reversed(LEVELS):
        if all(minute % level.minutes == 0 for minute in minutes):
            return level
    return MINUTE
