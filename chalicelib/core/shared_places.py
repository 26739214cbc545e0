"""Share places, such as connections to a host, among processes that were forked from one.

A place is a byte of a file without a name. Whoever uses it has a lock on it (POSIX `fcntl`), which
the kernel takes back when the process ends, whatever ends it.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache

MOST_PLACES = 1_000
"""Places that a key may have."""

_LOOK_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Place:
    """A place that this process has, since a time (``time.monotonic``)."""

    owner: SharedPlaces = field(repr=False)
    number: int
    since: float

    def release(self) -> None:
        """Give the place back, once."""
        self.owner._unlock(self.number)


class SharedPlaces:
    """Places by key. Processes that are forked from this one share them."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 (closing it would give all places back)
        self._lock = threading.Lock()
        # By process: its own locks would not keep it out, and those of its parent are not its own
        self._in_use: set[tuple[int, int]] = set()

    def take(self, key: str, places: int, seconds: float) -> Place | None:
        """Take one of the ``places`` of a key; ``None`` if none is free within ``seconds``.

        Processes that wait do so behind each other, and one that gives its place back waits behind
        them if it wants another.
        """
        deadline = time.monotonic() + seconds
        turn, *numbers = _numbers_of(key, min(places, MOST_PLACES))
        if self._wait_for([turn], deadline) is None:
            return None
        try:
            number = self._wait_for(numbers, deadline)
        finally:
            self._unlock(turn)
        return None if number is None else Place(self, number, time.monotonic())

    def _wait_for(self, numbers: Sequence[int], deadline: float) -> int | None:
        """Lock one of some bytes, as soon as one is free."""
        while True:
            for number in numbers:
                if self._try_to_lock(number):
                    return number
            if time.monotonic() >= deadline:
                return None
            time.sleep(_LOOK_SECONDS)

    def _try_to_lock(self, number: int) -> bool:
        with self._lock:
            if (os.getpid(), number) in self._in_use:
                return False
            try:
                fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, number)
            except (BlockingIOError, PermissionError):
                return False
            self._in_use.add((os.getpid(), number))
            return True

    def _unlock(self, number: int) -> None:
        with self._lock:
            fcntl.lockf(self._file, fcntl.LOCK_UN, 1, number)
            self._in_use.discard((os.getpid(), number))


@cache
def shared_places() -> SharedPlaces:
    """Return the places of this process and of those that it forks after the first call."""
    return SharedPlaces()


def _numbers_of(key: str, places: int) -> range:
    """Return the bytes of a key: one for the turn to take a place, then one for each place."""
    first = int.from_bytes(hashlib.sha256(key.encode()).digest()[:6]) * (MOST_PLACES + 1)
    return range(first, first + places + 1)
