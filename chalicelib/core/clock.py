"""Read the clock for the whole service, and format times as the specification wants.

Nothing else reads the wall clock, so that tests can replace it with :func:`use`. Times are seconds
since the epoch as ``float``; names of milliseconds end in ``_ms``. The wall clock may be set back
or forward; how long something takes is measured with :func:`monotonic`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import lru_cache

# On Linux the clock that goes on while the machine is suspended; elsewhere CLOCK_MONOTONIC does
_BOOT_TIME: int = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def _boot_time() -> float:
    return time.clock_gettime(_BOOT_TIME)


_source: Callable[[], float] = time.time
_monotonic_source: Callable[[], float] = _boot_time


def now() -> float:
    """Return the time in seconds since the epoch."""
    return _source()


def now_ms() -> int:
    """Return the time in whole milliseconds since the epoch."""
    return int(_source() * 1000)


def monotonic() -> float:
    """Return the seconds of a clock that nobody sets; it counts the time of a suspended machine."""
    return _monotonic_source()


@contextmanager
def use(
    source: Callable[[], float], monotonic_source: Callable[[], float] | None = None
) -> Iterator[None]:
    """Take the time from ``source`` within the block, for tests and simulations.

    ``monotonic_source`` is for tests that set the clock back; without it both clocks agree.
    """
    global _source, _monotonic_source
    before = _source, _monotonic_source
    _source, _monotonic_source = source, monotonic_source or source
    try:
        yield
    finally:
        _source, _monotonic_source = before


def iso_ms(moment_ms: int) -> str:
    """Format milliseconds as ``2026-01-31T09:05:00.123Z`` (spec 2.11, events search)."""
    seconds, milliseconds = divmod(moment_ms, 1000)
    return f"{_iso_seconds(seconds)}.{milliseconds:03d}Z"


@lru_cache(maxsize=1024)
def _iso_seconds(moment: int) -> str:
    return f"{datetime.fromtimestamp(moment, UTC):%Y-%m-%dT%H:%M:%S}"


def iso_offset(moment: float) -> str:
    """Format seconds as ``2026-01-31T09:05:00+00:00`` (spec 2.3, 2.5, 2.9)."""
    return datetime.fromtimestamp(moment, UTC).isoformat(timespec="seconds")
