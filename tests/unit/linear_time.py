"""Show that reading takes time in proportion to the length of what is read.

The processor time of an input is compared with that of a shorter one of the same kind, in the same
thread: a busy or slow machine slows down both.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

T = TypeVar("T", bound=Sequence[Any])

#: How many times longer the long input is
FACTOR = 8
#: How many times longer the long input may take: three times what is linear, a third of the square
LIMIT = 3 * FACTOR
#: Seconds that say nothing: clocks, caches and the collector of garbage decide about them
NOISE = 0.002
_ROUNDS = 3


def assert_linear(read: Callable[[T], object], hostile: T) -> None:
    """Fail if reading ``hostile`` takes out of proportion longer than reading an eighth of it.

    The eighth has the same start and the same end: hostile inputs often depend on both.
    """
    half = max(1, len(hostile) // FACTOR // 2)
    assert_growth(read, hostile[:half] + hostile[-half:], hostile)  # type: ignore[operator]


def assert_growth(read: Callable[[Any], object], short: Any, long: Any) -> None:
    """Fail if ``long``, eight times as much as ``short``, takes out of proportion longer."""
    bound = LIMIT * max(NOISE, _seconds(read, short))
    seconds = _seconds(read, long)
    # A second look before it fails: another process may have had the processor's caches
    if seconds > bound:
        seconds = min(seconds, *(_seconds(read, long) for _ in range(_ROUNDS)))
    assert seconds <= bound, f"{seconds:.3f} s, and an eighth of it takes {bound / LIMIT:.3f} s"


def _seconds(read: Callable[[Any], object], value: Any) -> float:
    began = time.thread_time()
    read(value)
    return time.thread_time() - began
