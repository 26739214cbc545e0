"""Turns: between the last piece of a message and its record no other message is accepted.

A crash in between cannot be told from one before, so what is under way there may be sent twice;
taking turns makes that one message. A host that does not answer in time loses its turn, and mail to
the same destination goes without one for as long as its answers come late: it would hold up
everybody else's, for nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic

_MOST_REMEMBERED = 10_000


@dataclass(frozen=True, slots=True, eq=False)
class _Turn:
    """A turn that may be taken away when the time ``until`` has come."""

    destination: str
    until: float


class CommitLock:
    """One turn at a time, of at most ``seconds``."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._changed = threading.Condition()
        self._holder: _Turn | None = None
        self._slow: set[str] = set()

    @contextmanager
    def take(self, destination: str) -> Iterator[None]:
        """Hold a turn within the block, or go without one where ``destination`` is slow."""
        mine = self._wait(destination)
        began = monotonic()
        try:
            yield
        finally:
            self._leave(destination, mine, in_time=monotonic() - began <= self._seconds)

    def _wait(self, destination: str) -> _Turn | None:
        with self._changed:
            while destination not in self._slow:
                now = monotonic()
                if self._holder is None:
                    self._holder = _Turn(destination, now + self._seconds)
                    return self._holder
                if self._holder.until > now:
                    self._changed.wait(self._holder.until - now)
                else:
                    self._lose(self._holder)
            return None

    def _leave(self, destination: str, mine: _Turn | None, *, in_time: bool) -> None:
        with self._changed:
            if in_time:
                self._slow.discard(destination)
            else:
                self._note_slow(destination)
            if mine is not None and self._holder is mine:
                self._holder = None
            # All of them: who waits to send to a slow destination need not any more
            self._changed.notify_all()

    def _lose(self, overdue: _Turn) -> None:
        self._holder = None
        self._note_slow(overdue.destination)
        self._changed.notify_all()

    def _note_slow(self, destination: str) -> None:
        if len(self._slow) < _MOST_REMEMBERED:
            self._slow.add(destination)
