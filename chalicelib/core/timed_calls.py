"""Make calls after certain times, in one thread.

A call must not take long. What it raises is logged, and the other calls are made.
"""

from __future__ import annotations

import heapq
import itertools
import logging
import threading
from collections.abc import Callable
from time import monotonic

_log = logging.getLogger(__name__)


class TimedCalls:
    """Calls that wait for their times."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._calls: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = itertools.count()
        self._is_running = False

    def call_after(self, seconds: float, call: Callable[[], None]) -> None:
        """Make a call after ``seconds``."""
        at = monotonic() + seconds
        with self._changed:
            heapq.heappush(self._calls, (at, next(self._numbers), call))
            if not self._is_running:
                self._is_running = True
                threading.Thread(target=self._run, name="timed-calls", daemon=True).start()
            self._changed.notify()

    def _run(self) -> None:
        while True:
            call = self._next()
            try:
                call()
            except Exception:
                _log.exception("a timed call failed")

    def _next(self) -> Callable[[], None]:
        """Wait for the first call that is due."""
        with self._changed:
            while True:
                if not self._calls:
                    self._changed.wait()
                elif (wait := self._calls[0][0] - monotonic()) > 0:
                    self._changed.wait(wait)
                else:
                    return heapq.heappop(self._calls)[2]
