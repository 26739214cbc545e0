"""Let one message at a time be committed: from its final dot to its journal entry.

A crash in between cannot be told from a crash before the dot, so a message in this window may be
sent twice. The lock makes that at most one message, or as many as ``DELIVERY_COMMIT_WIDTH`` says.
A host that does not answer in time loses the lock, and mail to the same destination goes without it
for as long as its answers are late: otherwise one slow host would hold up the mail to all others.
A destination is the hosts that mail leaves for, or a domain where those are not known.

Connections to a host that answers fast mostly wait for each other here. So the lock tells how many
messages were before one, and no more connections are used than that makes useful
(:class:`PerKeyExecutor`).
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic

_MOST_SLOW_DESTINATIONS = 10_000
_MOST_KEYS = 10_000


@dataclass(frozen=True, slots=True, eq=False)
class _Hold:
    """A hold of the lock, which others may break from the time ``until`` on."""

    destination: str
    until: float


@dataclass(slots=True)
class _Times:
    """For how long messages have waited for the lock, and had it, in seconds."""

    waits: float = 0.0
    turns: float = 0.0


class CommitLock:
    """A lock that ``width`` holders may have at a time, each for at most ``seconds``."""

    def __init__(self, seconds: float, width: int = 1) -> None:
        self._seconds = seconds
        self._width = width
        self._changed = threading.Condition()
        self._holds: list[_Hold] = []  # in the order in which they are overdue
        self._slow: set[str] = set()
        self._times: dict[str, _Times] = {}

    @contextmanager
    def hold(self, destination: str, key: str = "") -> Iterator[None]:
        """Hold the lock in the block, or go without it if ``destination`` is slow.

        ``key`` is what shares connections, for :meth:`crowd`.
        """
        came = monotonic()
        hold = self._acquire(destination)
        started = monotonic()
        try:
            yield
        finally:
            ended = monotonic()
            with self._changed:
                self._release(destination, hold, in_time=ended - started <= self._seconds)
                self._count(key, started - came, ended - started)

    def crowd(self, key: str) -> float:
        """Return how many messages were before one of ``key`` since this was last asked.

        It is the mean of their waits, in turns as long as theirs; 0 if none of them had the lock.
        """
        with self._changed:
            times = self._times.pop(key, None)
        return times.waits / times.turns if times and times.turns else 0.0

    def _count(self, key: str, wait: float, turn: float) -> None:
        if len(self._times) >= _MOST_KEYS:
            self._times.clear()
        times = self._times.setdefault(key, _Times())
        times.waits += wait
        times.turns += turn

    def _acquire(self, destination: str) -> _Hold | None:
        with self._changed:
            while destination not in self._slow:
                now = monotonic()
                if len(self._holds) < self._width:
                    hold = _Hold(destination, now + self._seconds)
                    self._holds.append(hold)
                    return hold
                first = self._holds[0]
                if first.until > now:
                    self._changed.wait(first.until - now)
                else:
                    self._holds.remove(first)
                    self._add_slow(first.destination)
            return None

    def _release(self, destination: str, hold: _Hold | None, *, in_time: bool) -> None:
        if hold in self._holds:
            self._holds.remove(hold)
        if in_time:
            self._slow.discard(destination)
            self._changed.notify()  # one can have the place: waking all would cost more
        else:
            self._add_slow(destination)

    def _add_slow(self, destination: str) -> None:
        if len(self._slow) < _MOST_SLOW_DESTINATIONS:
            self._slow.add(destination)
        # Those that wait to send to it need not wait any more
        self._changed.notify_all()
