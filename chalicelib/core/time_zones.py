"""Find a time zone by its name, and tell when its clocks show a time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo


def time_zone(name: str) -> tzinfo | None:
    """Return the time zone of a name such as ``Europe/Oslo``, or ``None`` if there is none.

    ``UTC`` may be in any case, and is always the same object.
    """
    if name.upper() == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, LookupError):
        return None


def moment(local: datetime) -> int:
    """Return when the clocks of its time zone show a time, in whole seconds since the epoch.

    It is the first moment if they show the time twice. A time that they skip is the moment at which
    they are put forward: it comes after all times that they showed before.
    """
    first, second = (int(local.replace(fold=fold).timestamp()) for fold in (0, 1))
    return first if first <= second else _change(second, first, local.tzinfo)


def _change(before: int, after: int, zone: tzinfo | None) -> int:
    """Return the second between these two at which the clocks are changed."""
    old = _offset(before, zone)
    while after - before > 1:
        middle = (before + after) // 2
        if _offset(middle, zone) == old:
            before = middle
        else:
            after = middle
    return after


def _offset(second: int, zone: tzinfo | None) -> timedelta | None:
    return datetime.fromtimestamp(second, zone).utcoffset()
