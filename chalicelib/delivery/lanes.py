"""Threads that work for several destinations, of which none gets them all.

A host that takes its time holds the threads that talk to it. So each destination has a lane: a few
calls of it run at a time, the others wait for one of those to end, and a thread is left for
whatever is to go elsewhere.
"""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")


class Lanes:
    """At most ``threads`` calls at a time, at most ``width`` of them for one destination."""

    def __init__(self, threads: int, width: int) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="delivery")
        self._width = width
        self._lock = threading.Lock()
        self._busy: Counter[str] = Counter()
        self._waiting: dict[str, deque[Callable[[], Any]]] = {}

    def submit(self, destination: str, call: Callable[[], T]) -> Future[T]:
        """Run ``call`` when it is its turn; those of one destination begin in order."""
        future: Future[T] = Future()

        def run() -> None:
            try:
                result = call()
            except BaseException as error:
                future.set_exception(error)
            else:
                future.set_result(result)
            finally:
                self._leave(destination)

        with self._lock:
            if self._busy[destination] < self._width:
                self._busy[destination] += 1
                self._pool.submit(run)
            else:
                self._waiting.setdefault(destination, deque()).append(run)
        return future

    def _leave(self, destination: str) -> None:
        """Give the place in the lane to the next call; an empty lane leaves nothing behind."""
        with self._lock:
            waiting = self._waiting.get(destination)
            if waiting:
                self._pool.submit(waiting.popleft())
                return
            self._waiting.pop(destination, None)
            self._busy[destination] -= 1
            if not self._busy[destination]:
                del self._busy[destination]
