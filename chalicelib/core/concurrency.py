"""Limit how many calls at a time one key (a destination, a webhook) may hold in this process.

Work for several destinations shares threads and connections. Without a limit per key, one slow
destination would hold all of them.

- :class:`PerKeyLimit` counts the places that are in use for each key.
- :class:`PerKeyExecutor` runs calls in threads within such a limit; calls beyond it wait without
  holding a thread, and take turns by their lanes (:mod:`fair_queue`).
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

from chalicelib.core.fair_queue import FairQueue, Lane

T = TypeVar("T")


Limit = int | Callable[[str], int]
"""A limit for each key, or the function that tells it."""


class PerKeyLimit:
    """At most ``limit`` places for each key. A key without places in use takes no memory."""

    def __init__(self, limit: Limit) -> None:
        self._limit = limit
        self._changed = threading.Condition()
        self._in_use: Counter[str] = Counter()

    @contextmanager
    def place(self, key: str, timeout: float = 0.0) -> Iterator[bool]:
        """Hold a place of ``key`` in the block; ``False`` if none is free within ``timeout``."""
        acquired = self.acquire(key, timeout)
        try:
            yield acquired
        finally:
            if acquired:
                self.release(key)

    def acquire(self, key: str, timeout: float = 0.0) -> bool:
        """Take a place of ``key``; return ``False`` if none is free within ``timeout`` seconds."""
        with self._changed:
            limit = self.limit_of(key)
            acquired = self._changed.wait_for(lambda: self._in_use[key] < limit, timeout)
            if acquired:
                self._in_use[key] += 1
            return acquired

    def limit_of(self, key: str) -> int:
        """Return how many places there are for ``key``."""
        return self._limit if isinstance(self._limit, int) else self._limit(key)

    def release(self, key: str) -> None:
        """Give back a place that :meth:`acquire` took."""
        with self._changed:
            self._in_use[key] -= 1
            if not self._in_use[key]:
                del self._in_use[key]
            self._changed.notify_all()

    def in_use(self, key: str) -> int:
        """Return how many places of ``key`` are in use."""
        with self._changed:
            return self._in_use.get(key, 0)


class PerKeyExecutor:
    """Runs at most ``threads`` calls at a time, at most ``limit`` of them for one key."""

    def __init__(self, threads: int, limit: Limit) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="per-key")
        self._limit = PerKeyLimit(limit)
        self._lock = threading.Lock()
        self._queues: dict[str, FairQueue[Callable[[], None]]] = {}
        self._without_thread = 0  # calls that the pool has not started yet

    def submit(self, key: str, call: Callable[[], T], lane: Lane = ()) -> Future[T]:
        """Run ``call`` as soon as ``key`` has a free place; calls of one lane start in order."""
        future: Future[T] = Future()

        def run() -> None:
            try:
                result = call()
            except BaseException as error:
                future.set_exception(error)
            else:
                future.set_result(result)

        with self._lock:
            if self._limit.acquire(key):
                self._start(key, run)
            else:
                self._queues.setdefault(key, FairQueue()).push(lane, run)
        return future

    def _start(self, key: str, run: Callable[[], None]) -> None:
        self._without_thread += 1
        self._pool.submit(self._work, key, run)

    def _work(self, key: str, run: Callable[[], None]) -> None:
        """Run a call of a key, and then those that wait for its place."""
        with self._lock:
            self._without_thread -= 1
        following: Callable[[], None] | None = run
        while following:
            following()
            following = self._next(key)

    def _next(self, key: str) -> Callable[[], None] | None:
        """Return the next call of a key, or give its place back.

        The call goes on in the same thread, unless other calls wait for one: then it waits behind
        them.
        """
        with self._lock:
            queue = self._queues.get(key)
            if not queue:
                self._queues.pop(key, None)
                self._limit.release(key)
                return None
            if not self._without_thread:
                return queue.pop()
            self._start(key, queue.pop())
            return None
