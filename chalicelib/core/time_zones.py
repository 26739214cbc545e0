"""Find a time zone by its name."""

from __future__ import annotations

from datetime import UTC, tzinfo
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
