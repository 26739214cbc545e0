"""Call functions later, all from one thread of the process.

``threading.Timer`` starts a thread for each; starting and ending one takes longer than many of the
calls whose time it limits. A function must be quick, because the others wait for it.
"""

from __future__ import annotations

import heapq
import itertools
import logging
import os
import threading
import time
from collections.abc import Callable

_log = logging.getLogger(__name__)

_order = itertools.count()


class Timer:
    """One call that is to be made, unless it is cancelled before."""

    __slots__ = ("_at", "_call", "_number")

    def __init__(self, at: float, call: Callable[[], object]) -> None:
        self._at = at
        self._number = next(_order)
        self._call: Callable[[], object] | None = call

    def __lt__(self, other: Timer) -> bool:
        return (self._at, self._number) < (other._at, other._number)

    def cancel(self) -> None:
        """Do not make the call, unless it has begun."""
        self._call = None


class _Timers:
    """The timers of a process. Cancelled ones stay until their time, but hold nothing."""

    def __init__(self) -> None:
        self._heap: list[Timer] = []
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def add(self, timer: Timer) -> None:
        with self._changed:
            heapq.heappush(self._heap, timer)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="timers", daemon=True)
                self._thread.start()
            elif self._heap[0] is timer:
                self._changed.notify()

    def _run(self) -> None:
        while True:
            call = self._next()._call
            try:
                if call is not None:
                    call()
            except Exception:
                _log.exception("a timed call failed")

    def _next(self) -> Timer:
        """Wait for the next timer, and return it when its time has come."""
        with self._changed:
            while True:
                wait = self._heap[0]._at - time.monotonic() if self._heap else None
                if wait is not None and wait <= 0:
                    return heapq.heappop(self._heap)
                self._changed.wait(wait)


_timers = _Timers()


def call_later(seconds: float, call: Callable[[], object]) -> Timer:
    """Call a function after some seconds, in another thread; return what cancels that."""
    timer = Timer(time.monotonic() + max(0.0, seconds), call)
    _timers.add(timer)
    return timer


def _forget() -> None:
    """Begin again in a fork: the thread of its parent does not live on in it."""
    global _timers
    _timers = _Timers()


os.register_at_fork(after_in_child=_forget)
