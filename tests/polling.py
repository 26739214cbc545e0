"""Ask again and again, ever more seldom, until something is the case."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

# The shares of the time waited and of the time that an answer took, and the longest pause
_OF_ALL, _OF_ONE, _LONGEST = 0.1, 2.0, 1.0


def poll(condition: Callable[[], T], seconds: float, first_pause: float) -> T:
    """Call ``condition`` until its result is true, but no longer than ``seconds``; return it.

    The questions take time from what they wait for, as both run on the same machine. So a pause is
    longer where an answer takes longer, and after a longer wait: that adds a tenth to it.
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
        shares = (_OF_ALL * (after - began), _OF_ONE * (after - before))
        pause(min(max(first_pause, *shares), _LONGEST))
