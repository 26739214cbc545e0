"""Limit how many calls at a time one key (a destination, a webhook) may hold in this process.

Work for several destinations shares threads and connections. Without a limit per key, one slow
destination would hold all of them.

- :class:`PerKeyLimit` counts the places that are in use for each key.
- :class:`PerKeyExecutor` runs calls in threads within such a limit; calls beyond it wait without
  holding a thread. Calls that wait for a place, and those that wait for a thread, take turns by
  their lanes (:mod:`fair_queue`).
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from math import ceil, inf
from typing import NamedTuple, Protocol, TypeVar

from chalicelib.core.fair_queue import FairQueue, Lane
from chalicelib.core.timed_calls import TimedCalls

T = TypeVar("T")


LEAST_PLACES = 2
"""Places that a key has even if its calls wait for each other: one gets ready meanwhile."""

LEAST_CROWD, MOST_CROWD = 0.5, 1.5
"""Calls before one in its line, between which the places of a key are as many as are useful."""

OBSERVED_SECONDS = 0.25
"""How often that is looked at."""

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


class Turns(Protocol):
    """Something that calls take turns at, one at a time."""

    def crowd(self, key: str) -> float:
        """Return how many calls were before one of ``key``, on average since this was asked."""
        ...


class _Call(NamedTuple):
    """A call that waits, with the key whose place it takes."""

    key: str
    lane: Lane
    run: Callable[[], None]


class PerKeyExecutor:
    """Runs at most ``threads`` calls at a time, at most ``limit`` of them for one key.

    Where calls take ``turns`` at something, a key with calls that mostly wait for theirs gets fewer
    places, and more again once they do not. What the calls do beside their turn decides how many
    are useful: one has its turn while the others get ready.
    """

    def __init__(self, threads: int, limit: Limit, turns: Turns | None = None) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="per-key")
        self._limit = PerKeyLimit(limit)
        self._turns = turns
        self._useful: dict[str, int] = {}  # places of a key, where they are fewer than its limit
        self._observed: set[str] = set()
        self._timed_calls = TimedCalls()
        self._lock = threading.Lock()
        self._queues: dict[str, FairQueue[_Call]] = {}
        self._ready = FairQueue[_Call]()  # calls with a place and without a thread

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

        item = _Call(key, lane, run)
        with self._lock:
            if not self._take_place(key):
                self._queues.setdefault(key, FairQueue()).push(lane, item)
                self._observe(key)
            elif queue := self._queues.get(key):
                queue.push(lane, item)
                self._start(queue.pop())
            else:
                self._start(item)
        return future

    def _take_place(self, key: str) -> bool:
        in_use = self._limit.in_use(key)
        return in_use < self._useful.get(key, in_use + 1) and self._limit.acquire(key)

    def _observe(self, key: str) -> None:
        """Look in a while at how the calls of a key fare, if they take turns."""
        if self._turns and key not in self._observed:
            self._observed.add(key)
            self._timed_calls.call_after(OBSERVED_SECONDS, partial(self._adjust, key))

    def _adjust(self, key: str) -> None:
        """Use fewer places of a key if its calls wait for each other, or one more if not."""
        with self._lock:
            self._observed.discard(key)
            queue = self._queues.get(key)
            if not queue or not self._turns:
                self._useful.pop(key, None)
                return
            self._observe(key)
            crowd, in_use = self._turns.crowd(key), self._limit.in_use(key)
            if crowd > MOST_CROWD:
                self._useful[key] = max(LEAST_PLACES, in_use - ceil(crowd - 1))
            elif crowd < LEAST_CROWD and key in self._useful:
                self._useful[key] = in_use + 1
                if self._take_place(key):
                    self._start(queue.pop())

    def _start(self, call: _Call) -> None:
        self._ready.push(call.lane, call)
        self._pool.submit(self._work)

    def _work(self) -> None:
        """Run the call whose turn it is, and then those that follow it in this thread."""
        with self._lock:
            call: _Call | None = self._ready.pop()
        while call:
            call.run()
            call = self._next(call.key)

    def _next(self, key: str) -> _Call | None:
        """Return the call that follows one of ``key``, or give the key's place back.

        It is the next one of the key, unless other calls wait for a thread: then that one takes
        turns with them.
        """
        with self._lock:
            queue = self._queues.get(key)
            if not queue:
                self._queues.pop(key, None)
            if not queue or self._limit.in_use(key) > self._useful.get(key, inf):
                self._limit.release(key)
                return None
            call = queue.pop()
            if not self._ready:
                return call
            self._ready.push(call.lane, call)
            return self._ready.pop()
