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

_LONGEST_LINE = 200

_LOOK_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Place:
    """A place that this process has, for itself until a time (``time.monotonic``)."""

    owner: SharedPlaces = field(repr=False)
    number: int
    until: float
    turn: int = field(repr=False)

    def release(self) -> None:
        """Give the place back, once."""
        self.owner._unlock(self.number)

    def is_wanted(self) -> bool:
        """Tell whether somebody waits for a place of the same key."""
        return not self.owner._is_free(self.turn)

    def is_over(self) -> bool:
        """Tell whether it is time to give the place back, as somebody waits for it."""
        return time.monotonic() > self.until and self.is_wanted()


class SharedPlaces:
    """Places by key. Processes that are forked from this one share them."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 (closing it would give all places back)
        self._lock = threading.Lock()
        # By process: its own locks would not keep it out, and those of its parent are not its own
        self._in_use: set[tuple[int, int]] = set()

    def take(
        self, key: str, places: int, seconds: float, *, turn_seconds: float = 0.0
    ) -> Place | None:
        """Take one of the ``places`` of a key; ``None`` if none is free within ``seconds``.

        It is for this process alone for ``turn_seconds``, and then as long as nobody else waits.
        Who waits does so in a line: one that gives its place back, and wants another, waits behind
        all others.
        """
        deadline = time.monotonic() + seconds
        line, numbers = _line_of(key), _places_of(key, places)
        if not self._wait_in_line(line, deadline):
            return None
        try:
            number = self._wait_for(numbers, deadline)
        finally:
            self._unlock(line[0])
        if number is None:
            return None
        return Place(self, number, time.monotonic() + turn_seconds, line[0])

    def _wait_in_line(self, line: range, deadline: float) -> bool:
        """Lock the first byte of a line, when it is the turn of whoever calls this.

        A byte is a position in the line. Whoever comes takes the one behind the last that is in
        use, and goes on to the one before it as soon as that is free.
        """
        position = self._join(line, deadline)
        if position is None:
            return False
        while position > line[0]:
            if self._wait_for([position - 1], deadline) is None:
                self._unlock(position)
                return False
            self._unlock(position)
            position -= 1
        return True

    def _join(self, line: range, deadline: float) -> int | None:
        """Lock the position behind the last one of a line that is in use."""
        while True:
            free = line[-1]
            while free > line[0] and self._is_free(free - 1):
                free -= 1
            if self._try_to_lock(free):
                return free
            if time.monotonic() >= deadline:
                return None
            time.sleep(_LOOK_SECONDS)  # the line is full, or another one was faster

    def _is_free(self, number: int) -> bool:
        """Tell whether nobody, here or in another process, has locked a byte."""
        if not self._try_to_lock(number):
            return False
        self._unlock(number)
        return True

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


def _line_of(key: str) -> range:
    """Return the bytes of a key that are positions in the line of those that wait for a place."""
    number = int.from_bytes(hashlib.sha256(key.encode()).digest()[:6])
    first = number * (_LONGEST_LINE + MOST_PLACES)
    return range(first, first + _LONGEST_LINE)


def _places_of(key: str, places: int) -> range:
    """Return the bytes of a key that are its places."""
    first = _line_of(key).stop
    return range(first, first + min(places, MOST_PLACES))
