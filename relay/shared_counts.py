"""Count by name in memory of a fixed size that the processes of a relay share.

The memory is shared by processes that are forked after it is made. Two names may share a slot;
which ones depends on a secret, so no client can choose a slot. Processes that count at the same
instant may lose one of the counts. A lock would be worse: a process that is killed while it holds
the lock would stop the others.
"""

from __future__ import annotations

import hashlib
import mmap
import secrets

_SLOTS = 65_536
_CELL_SIZE = 8


class SharedSlots:
    """Slots of some numbers each, found by a name."""

    def __init__(self, cells: int) -> None:
        self._secret = secrets.token_bytes(16)
        self._size = cells
        self._cells = memoryview(mmap.mmap(-1, _SLOTS * cells * _CELL_SIZE)).cast("q")

    def slot(self, name: str) -> memoryview[int]:
        """Return the numbers of the slot of a name, to be read and written."""
        digest = hashlib.blake2b(name.encode(), key=self._secret, digest_size=8).digest()
        start = int.from_bytes(digest) % _SLOTS * self._size
        return self._cells[start : start + self._size]
