"""When a transmission starts (spec 2.1, 8): now, or up to three days ahead."""

from __future__ import annotations

from datetime import datetime

from chalicelib.core import clock
from chalicelib.core.errors import bad_format

LONGEST_AHEAD_MS = 3 * 86_400_000


def read_start_time(text: str | None) -> int | None:
    """Return the time in milliseconds, ``None`` for at once (also for a time that has passed).

    Raises 1300 for what is no ISO 8601 time with an offset, or is over three days ahead.
    """
    if text is None or text == "now":
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None or "T" not in text.upper():
        raise bad_format(
            "Error parsing scheduled start_time: it must be like 2026-01-31T09:05:00+00:00"
        )
    start = int(moment.timestamp() * 1000)
    now = clock.now_ms()
    if start > now + LONGEST_AHEAD_MS:
        raise bad_format("options.start_time may be at most 3 days ahead")
    return start if start > now else None
