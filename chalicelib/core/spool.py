"""Hold octets that may be many: a few in memory, more in an unnamed temporary file.

What is large is read through a mapping of the file (``mmap``), so that its pages belong to the
kernel's cache and not to this process. A mapping can be searched, sliced and matched as ``bytes``
can, so that code for messages needs to know nothing of the difference; it must slice a large one
in pieces.
"""

from __future__ import annotations

import mmap
import os
import tempfile
from collections.abc import Iterator
from types import TracebackType
from typing import IO, Final, Self

Octets = bytes | mmap.mmap
"""Octets that can be searched and sliced: in memory, or in a mapped file."""

#: Octets that are kept in memory
MOST_IN_MEMORY: Final = 1024 * 1024
#: Octets of a piece, where a large whole is read in pieces
PIECE: Final = 256 * 1024


class Spool:
    """Octets that are written once, then read; closing it (or ``with``) releases them.

    Use one for a body whose size is the choice of a stranger.
    """

    def __init__(self, most_in_memory: int = MOST_IN_MEMORY) -> None:
        self._most_in_memory = most_in_memory
        self._parts: list[bytes] = []
        self._file: IO[bytes] | None = None
        self._octets: Octets | None = None
        self.size = 0

    def write(self, octets: bytes) -> None:
        """Add octets; not after :meth:`octets`."""
        if self._octets is not None:
            raise ValueError("it has been read already")
        self.size += len(octets)
        if self._file is None and self.size <= self._most_in_memory:
            self._parts.append(octets)
            return
        if self._file is None:
            self._file = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the spool
            self._file.writelines(self._parts)
            self._parts.clear()
        self._file.write(octets)

    def octets(self) -> Octets:
        """Return all octets; a mapping is closed with the spool."""
        if self._octets is None:
            self._octets = self._in_memory() if self._file is None else self._mapping(self._file)
        return self._octets

    def pieces(self) -> Iterator[bytes]:
        """Yield all octets, in pieces of at most ``PIECE``; they may be read several times.

        A file is read without a mapping, whose pages would count as memory of this process.
        """
        if self._file is None or self._octets is not None:
            yield from pieces_of(self.octets())
            return
        self._file.flush()
        for at in range(0, self.size, PIECE):
            yield os.pread(self._file.fileno(), PIECE, at)

    def close(self) -> None:
        """Release the octets and the file."""
        if isinstance(self._octets, mmap.mmap):
            self._octets.close()
        if self._file is not None:
            self._file.close()
        self._octets = b""
        self._parts.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _in_memory(self) -> bytes:
        parts, self._parts = self._parts, []
        return parts[0] if len(parts) == 1 else b"".join(parts)

    @staticmethod
    def _mapping(file: IO[bytes]) -> mmap.mmap:
        file.flush()
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def pieces_of(octets: Octets, start: int = 0, end: int | None = None) -> Iterator[bytes]:
    """Yield the octets from ``start`` to ``end`` in pieces of at most ``PIECE``."""
    last = len(octets) if end is None else end
    for at in range(start, last, PIECE):
        yield octets[at : min(at + PIECE, last)]


def leave(octets: Octets) -> None:
    """Give the pages of a mapped file back, where it is not read again soon.

    They count as memory of this process. Where they are read all the same, they are mapped again.
    """
    if isinstance(octets, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        octets.madvise(mmap.MADV_DONTNEED)


#: Octets to be sent: in memory, or spooled
Body = bytes | Spool


def size_of(body: Body) -> int:
    """Return the number of octets of a body."""
    return body.size if isinstance(body, Spool) else len(body)


def body_pieces(body: Body) -> Iterator[bytes]:
    """Yield the octets of a body in pieces; a body in memory is one piece."""
    return body.pieces() if isinstance(body, Spool) else iter((body,))
