"""Cut clients off that do not read what they asked for: it would stay in memory.

- In :data:`LOOK_SECONDS` a client takes :data:`LEAST_BYTES` of its answers, or all that is left.
- What waits for all clients together is at most :data:`MOST_UNREAD_BYTES`; the client that has
  been waited for longest is cut off first.
"""

from __future__ import annotations

import asyncio
from typing import ClassVar

LOOK_SECONDS = 60.0
LEAST_BYTES = 16 * 1024
MOST_UNREAD_BYTES = 32 * 1024 * 1024


class WriteWatch:
    """Aborts a connection whose client takes less of its answers than it must."""

    #: Those that are watched, of all connections, the longest first, with the bytes that wait
    _unread: ClassVar[dict[WriteWatch, int]] = {}

    def __init__(self, loop: asyncio.AbstractEventLoop, transport: asyncio.Transport) -> None:
        self._loop = loop
        self._transport = transport
        self._next_look: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        """Watch from now on, until everything is written or :meth:`end` is called."""
        if self._next_look is not None:
            self._next_look.cancel()
        self._watch(self._transport.get_write_buffer_size())

    def end(self) -> None:
        """Watch no more."""
        self._unread.pop(self, None)
        if self._next_look is not None:
            self._next_look.cancel()
            self._next_look = None

    def _watch(self, size: int) -> None:
        if not size:
            self.end()
            return
        self._unread[self] = size
        self._next_look = self._loop.call_later(LOOK_SECONDS, self._look)
        while sum(self._unread.values()) > MOST_UNREAD_BYTES and len(self._unread) > 1:
            next(iter(self._unread))._cut_off()

    def _look(self) -> None:
        size = self._transport.get_write_buffer_size()
        if size and self._unread[self] - size < LEAST_BYTES:
            self._cut_off()
        else:
            self._watch(size)

    def _cut_off(self) -> None:
        self.end()
        self._transport.abort()
