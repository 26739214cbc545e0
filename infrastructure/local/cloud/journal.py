"""Collect the changes of each request and write them to the log before it is answered.

The changes that are collected when a request is to be answered become one record, so that a
transaction is in the log as a whole or not at all. While the log cannot be written, requests that
change something are refused before they are applied. What could not be written stays collected
and is written first when that is possible again.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress

from infrastructure.local.cloud.changes import Change, encode
from infrastructure.local.cloud.redo_log import RedoLog
from infrastructure.local.notices import tell

# Synchronizing with the disk after each request would take longer than the request.
SYNCHRONIZATION_INTERVAL = 1.0
# Seconds between two lines for the user
_QUIET = 60.0
# More than a request of the service makes its items grow by
_ROOM = 8 << 20

PendingChange = Change | Callable[[], Change]


class ChangeJournal:
    """The changes that are not in the log yet, and the log.

    ``before_commit`` is called before changes are written and may add some. ``lock`` is held while
    they are collected: whoever makes several changes in a thread holds it meanwhile.
    """

    def __init__(
        self,
        log: RedoLog,
        lock: threading.Lock,
        before_commit: Callable[[], None],
        make_room: Callable[[int], None],
    ) -> None:
        self.log = log
        self.lock = lock
        self._before_commit = before_commit
        self._make_room_elsewhere = make_room
        self._changes: deque[PendingChange] = deque()
        self._unwritten = bytearray()
        self._is_failing = False
        self._quiet_until = 0.0

    def note(self, change: PendingChange) -> None:
        """Note a change; a function is called for it when the change is written."""
        self._changes.append(change)

    def remove(self, path: tuple[str, ...]) -> None:
        """Note that nothing is at or below a path any more."""
        self._changes.append(Change(path, None))

    def make_room(self, size: int) -> None:
        """Make sure that a request with ``size`` bytes can be applied and written.

        Raises OSError, and then the request must be refused.
        """
        try:
            self.commit()
            self.log.make_room(2 * size + _ROOM)
            self._make_room_elsewhere(2 * size + _ROOM)
        except OSError as error:
            self.tell_failure(error)
            raise
        self._is_failing = False

    def tell_failure(self, error: OSError) -> None:
        """Tell the user that a request is refused, once in a while."""
        is_new = not self._is_failing and time.monotonic() > self._quiet_until
        self._is_failing = True
        if is_new:
            self._quiet_until = time.monotonic() + _QUIET
            tell(
                f"the local cloud cannot write {self.log.path.parent} ({error.strerror}): "
                "it refuses what it cannot store, until it can"
            )

    def commit(self) -> None:
        """Write all changes so far as one record; raises OSError."""
        self._before_commit()
        if self._changes or self._unwritten:
            with self.lock:
                self.write()

    def write(self) -> None:
        """Write all changes while ``lock`` is held; raises OSError."""
        while self._changes:
            change = self._changes.popleft()
            self._unwritten += encode(change if isinstance(change, Change) else change())
        if self._unwritten:
            self.log.append(bytes(self._unwritten))
            self._unwritten.clear()

    async def keep_synchronized(self) -> None:
        """Synchronize the log with the disk while it grows. Runs until cancelled."""
        while True:
            await asyncio.sleep(SYNCHRONIZATION_INTERVAL)
            with suppress(OSError):
                self.commit()
                if not self.log.is_synchronized:
                    await asyncio.to_thread(self.log.synchronize)

    def close(self) -> None:
        """Write what is left, and synchronize all of it with the disk."""
        with suppress(OSError):
            self.commit()
            self.log.synchronize()
