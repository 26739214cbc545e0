"""Wait for what must happen, and tell what there was instead when it does not."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

#: Seconds that a test waits if it does not say for how long
TIMEOUT = 10.0
_PAUSE = 0.02
_LONGEST_PAUSE = 0.2

T = TypeVar("T")


class NeverHappened(AssertionError):
    """What a test waited for did not happen in time; the text says what there was instead."""


def wait_for(look: Callable[[], T | None], timeout: float, instead: Callable[[], str]) -> T:
    """Call ``look`` until it returns something; raises :class:`NeverHappened` after ``timeout``."""
    deadline = time.monotonic() + timeout
    pause = _PAUSE
    while True:
        if (result := look()) is not None:
            return result
        if time.monotonic() >= deadline:
            raise NeverHappened(instead())
        time.sleep(pause)
        pause = min(pause * 1.5, _LONGEST_PAUSE)
