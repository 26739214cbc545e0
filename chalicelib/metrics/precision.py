"""Divide a report's window into buckets of its precision.

Times are whole minutes since the epoch, in UTC. Buckets of less than a day follow the clocks in the
caller's time zone; days, weeks (from Monday) and months are those of UTC (spec 4.11).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final, Protocol

_HOUR = 60
_DAY = 1440


class Precision(Protocol):
    """``longest`` is the longest window in minutes, ``None`` without a limit."""

    @property
    def longest(self) -> int | None:
        """The longest window that a report may have."""

    @property
    def is_utc(self) -> bool:
        """Whether the buckets are those of UTC in any time zone."""

    def floor(self, minute: int, zone: tzinfo) -> int:
        """Return where the bucket of a minute begins."""

    def after(self, begin: int, zone: tzinfo) -> int:
        """Return where the next bucket begins after one that begins at ``begin``."""


@dataclass(frozen=True, slots=True)
class Minutes:
    """Buckets of a number of minutes that divides the hour."""

    length: int
    longest: int | None
    is_utc: bool = False

    def floor(self, minute: int, zone: tzinfo) -> int:
        """Return where the bucket of a minute begins."""
        return minute - _clock(minute, zone) % self.length

    def after(self, begin: int, zone: tzinfo) -> int:
        """Return where the next bucket begins.

        Where clocks change by half an hour, one bucket is that much longer or shorter.
        """
        return begin + self.length - _clock(begin, zone) % self.length


@dataclass(frozen=True, slots=True)
class HalfDays:
    """From midnight to noon and from noon to midnight: 11 or 13 hours when clocks change."""

    longest: int | None = None
    is_utc: bool = False

    def floor(self, minute: int, zone: tzinfo) -> int:
        """Return where the bucket of a minute begins."""
        local = _local(minute, zone)
        return _minute(local.replace(hour=local.hour // 12 * 12, minute=0, fold=0))

    def after(self, begin: int, zone: tzinfo) -> int:
        """Return where the next bucket begins."""
        local = _local(begin, zone)
        if local.hour < 12:
            return _minute(local.replace(hour=12, minute=0, fold=0))
        return _minute(local.replace(hour=0, minute=0, fold=0) + timedelta(days=1))


@dataclass(frozen=True, slots=True)
class Days:
    """Days, or weeks from Monday, of UTC."""

    length: int = 1
    longest: int | None = None
    is_utc: bool = True

    def floor(self, minute: int, zone: tzinfo) -> int:
        """Return where the bucket of a minute begins."""
        day = minute // _DAY
        # Day 0 was a Thursday
        return (day - (day + 3) % self.length) * _DAY

    def after(self, begin: int, zone: tzinfo) -> int:
        """Return where the next bucket begins."""
        return begin + self.length * _DAY


@dataclass(frozen=True, slots=True)
class Months:
    """Calendar months of UTC."""

    longest: int | None = None
    is_utc: bool = True

    def floor(self, minute: int, zone: tzinfo) -> int:
        """Return where the bucket of a minute begins."""
        return _minute(_local(minute, UTC).replace(day=1, hour=0, minute=0))

    def after(self, begin: int, zone: tzinfo) -> int:
        """Return where the next bucket begins."""
        return self.floor(begin + 31 * _DAY, zone)


PRECISIONS: Final[dict[str, Precision]] = {
    "1min": Minutes(1, 24 * _HOUR),
    "5min": Minutes(5, 24 * _HOUR),
    "15min": Minutes(15, 48 * _HOUR),
    "hour": Minutes(_HOUR, 31 * _DAY),
    "day": Days(),
}
"""The precisions of all reports, the finest first."""

SERIES: Final[dict[str, Precision]] = PRECISIONS | {
    "12hr": HalfDays(),
    "week": Days(7),
    "month": Months(),
}
"""The precisions of reports over time."""


def ceiling(precision: Precision, minute: int, zone: tzinfo) -> int:
    """Return the first beginning of a bucket at or after a minute."""
    begin = precision.floor(minute, zone)
    return begin if begin == minute else precision.after(begin, zone)


def buckets(precision: Precision, start: int, end: int, zone: tzinfo) -> Iterator[int]:
    """Yield where the buckets begin that lie between ``start`` and ``end``."""
    while start < end:
        yield start
        start = precision.after(start, zone)


def _clock(minute: int, zone: tzinfo) -> int:
    """Return the minutes since the epoch as clocks in the zone show them."""
    offset = _local(minute, zone).utcoffset() or timedelta()
    return minute + offset // timedelta(minutes=1)


def _local(minute: int, zone: tzinfo) -> datetime:
    return datetime.fromtimestamp(minute * 60, zone)


def _minute(local: datetime) -> int:
    return int(local.timestamp()) // 60
