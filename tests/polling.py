"""Ask again and again, ever more seldom, until something is the case."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

_FIRST_PAUSE = 0.05
_SHARE = 0.1
_LONGEST_AS_ANSWER = 1.0


def poll(condition: Callable[[], T], seconds: float, longest_pause: float) -> T:
    """Call ``condition`` until its result is true, but no longer than ``seconds``; return it.

    The questions take time from what they wait for, as both run on the same machine. So a pause is
    at least as long as an answer took, and after a longer wait a tenth of the time waited, up to
    ``longest_pause``: what is there for a shorter time may be missed.
    """
    # Tests may replace the functions of the module `time`
    now, pause = time.monotonic, threading.Event().wait
    began = now()
    while True:
        before = now()
        result = condition()
        after = now()
        if result or after > began + seconds:
            return result
        share = min(_SHARE * (after - began), longest_pause)
        pause(max(_FIRST_PAUSE, share, min(after - before, _LONGEST_AS_ANSWER)))
