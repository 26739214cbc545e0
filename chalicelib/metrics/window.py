"""Read the time window of a report (spec 4.11).

``from`` and ``to`` are times of day in the caller's time zone, without seconds
(``time_zones.moment`` tells what they mean when clocks are changed). The window goes from the
beginning of ``from`` to before ``to``, and is rounded outward to whole buckets.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo

from chalicelib.core import clock
from chalicelib.core.errors import invalid_params, missing_metrics_parameter
from chalicelib.core.query import Query
from chalicelib.core.settings import settings
from chalicelib.core.time_zones import moment, time_zone
from chalicelib.metrics.precision import PRECISIONS, Precision, buckets, ceiling

_TIME = re.compile(r"(?:19|2\d)\d\d-\d\d-\d\dT\d\d:\d\d", re.ASCII)
_DAY_SECONDS = 86_400


@dataclass(frozen=True, slots=True)
class MetricsWindow:
    """Whole minutes since the epoch from ``start`` to before ``end``, both on bucket boundaries."""

    start: int
    end: int
    precision: Precision
    zone: tzinfo

    def buckets(self) -> list[int]:
        """Return the beginnings of the buckets."""
        return list(buckets(self.precision, self.start, self.end, self.zone))

    def iso_time(self, minute: int) -> str:
        """Return a time as ISO 8601 with the offset that the zone has then."""
        return datetime.fromtimestamp(minute * 60, self.zone).isoformat(timespec="seconds")


def read_window(query: Query, precisions: Mapping[str, Precision] = PRECISIONS) -> MetricsWindow:
    """Read ``from``, ``to``, ``timezone`` and ``precision``; raises 400.

    Without a precision it is the finest one that allows the window. The window is cut to the time
    for which metrics are kept, and to a day ahead.
    """
    zone = _zone(query.get("timezone") or "UTC")
    name = query.get("precision") or ""
    if name and name not in precisions:
        text = f"precision must be one of {', '.join(precisions)}"
        raise invalid_params(text, param="precision")
    if name and precisions[name].is_utc:
        zone = UTC
    length, start, end = _bounds(query, zone)
    precision = _precision(name, length, precisions)
    if precision.is_utc and zone is not UTC:
        zone = UTC
        length, start, end = _bounds(query, zone)
    oldest = int(clock.now() - settings().metrics_retention) // 60
    latest = int(clock.now() + _DAY_SECONDS) // 60
    start = precision.floor(max(start, oldest), zone)
    end = ceiling(precision, min(end, latest), zone)
    return MetricsWindow(start, max(start, end), precision, zone)


def _bounds(query: Query, zone: tzinfo) -> tuple[timedelta, int, int]:
    """Return the window's length, by the clock or in fact, whichever is shorter, and its bounds.

    A time means the same moment as either bound, so that no minute is in two windows that follow
    each other.
    """
    start = _time(query, "from", zone)
    if start is None:
        raise missing_metrics_parameter("from is required", param="from")
    end = _time(query, "to", zone)
    first = moment(start)
    last = clock.now() if end is None else moment(end)
    if first > last:
        raise invalid_params("from must be before to", param="from")
    by_clock = (end or datetime.fromtimestamp(last, zone)) - start
    length = min(by_clock, timedelta(seconds=last - first))
    return length, first // 60, -int(-last // 60)


def _precision(name: str, length: timedelta, precisions: Mapping[str, Precision]) -> Precision:
    if name:
        longest = precisions[name].longest
        if longest is not None and length > timedelta(minutes=longest):
            hours = f"{longest // 60} hours"
            text = f"the window of precision {name} is {hours} at most"
            raise invalid_params(text, param="precision")
        return precisions[name]
    return next(_allowing(length, precisions))


def _allowing(length: timedelta, precisions: Mapping[str, Precision]) -> Iterator[Precision]:
    for precision in precisions.values():
        if precision.longest is None or length <= timedelta(minutes=precision.longest):
            yield precision


def _time(query: Query, name: str, zone: tzinfo) -> datetime | None:
    text = query.get(name)
    if not text:
        return None
    try:
        if not _TIME.fullmatch(text):
            raise ValueError(text)
        return datetime.fromisoformat(text).replace(tzinfo=zone)
    except ValueError:
        text = f"{name} must be a time such as 2026-01-31T09:05"
        raise invalid_params(text, param=name) from None


def _zone(name: str) -> tzinfo:
    zone = time_zone(name)
    if zone is None:
        raise invalid_params(f"timezone {name[:100]!r} is not known", param="timezone")
    return zone
