"""Write the state as a new base when its log has become large, without stopping the cloud.

A forked child writes the base. The fork is a consistent copy of every service at one instant and
takes milliseconds; the server goes on with the next log while the child writes. The cost of all
bases together is a fraction of what was written to the logs.
"""

from __future__ import annotations

import asyncio
import copy
import gc
import logging
import os
import signal
import time
import traceback
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

from ministack.services import dynamodb, sqs

from infrastructure.local.cloud.changes import Change
from infrastructure.local.cloud.documents import deploying, document_changes
from infrastructure.local.cloud.item_file import ItemFile
from infrastructure.local.cloud.items import Items
from infrastructure.local.cloud.journal import ChangeJournal
from infrastructure.local.cloud.queue_changes import Queue, message_change
from infrastructure.local.cloud.state_files import StateFiles
from infrastructure.local.cloud.table_items import tables, token_change

log = logging.getLogger(__name__)

SMALLEST_LOG = 64 << 20
# Of the log that a start reads again; what is stored may be much more
LARGEST_LOG = 256 << 20
INTERVAL = 1.0
RETRY_INTERVAL = 60.0
DEADLINE = 600.0
NICENESS = 5


class Compaction:
    """Writes bases of the state in ``files``, and starts the next log of ``journal`` for each.

    The child that writes closes every descriptor but two: sockets that it inherited would stay half
    open. It keeps the ``lock`` on the data, so that nobody else opens the data before it has ended,
    and reads the ``items``, of which those that have not changed are in the base before.
    """

    def __init__(
        self, files: StateFiles, journal: ChangeJournal, lock: int, items: ItemFile
    ) -> None:
        self._files = files
        self._journal = journal
        self._items = items
        self._open_in_child = (lock, items.descriptor, items.base_descriptor)
        self._base_size = files.base_size()
        self._is_earlier_base = files.has_earlier_base()

    async def keep(self) -> None:
        """Write a base whenever the log is larger than the one before. Runs until cancelled."""
        while True:
            await asyncio.sleep(INTERVAL)
            if self._is_due() and not await self.write_base():
                await asyncio.sleep(RETRY_INTERVAL)

    def _is_due(self) -> bool:
        limit = min(max(SMALLEST_LOG, self._base_size), LARGEST_LOG)
        return (self._is_earlier_base or self._journal.log.end > limit) and not deploying()

    async def write_base(self) -> bool:
        """Begin the next log and write its base; tell whether that succeeded."""
        try:
            child = self._fork()
        except OSError as error:
            log.error("no new log can begin, the one before goes on: %s", error)
            return False
        try:
            with self._items.held():
                status = await _ended(child)
        except asyncio.CancelledError:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            raise
        if status != 0:
            log.error("a base was not written (status %d); the files before it stay", status)
            return False
        self._files.remove_superseded()
        self._base_size = self._files.base_size()
        self._is_earlier_base = False
        return True

    def _fork(self) -> int:
        self._journal.commit()
        # A thread of MiniStack may be in the middle of a change
        with self._journal.lock, dynamodb._lock:
            self._journal.write()
            self._journal.log.seal()
            self._journal.log = self._files.start_next_log()
            child = os.fork()
        if child == 0:
            self._become_writer()
        return child

    def _become_writer(self) -> None:
        """Write the base and end the process. Never returns, never touches the loop."""
        try:
            os.nice(NICENESS)
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            _close_all_but(self._open_in_child)
            gc.disable()
            # This is a forked copy: services need not copy their state.
            copy.deepcopy = _without_copy  # type: ignore[assignment]
            self._files.write_base(state())
        except BaseException:
            os.write(2, traceback.format_exc().encode())
            os._exit(1)
        os._exit(0)


def state() -> Iterator[Change]:
    """Yield the changes that make the present state of nothing."""
    yield from document_changes()
    for _, table in tables():
        if isinstance(table["items"], Items):
            yield from table["items"].changes()
    for queue in sqs._queues.all_values():
        if isinstance(queue, Queue):
            for message in queue["messages"]:
                yield message_change(queue, message)
    for token, entry in dynamodb._txn_idempotency.all_items():
        yield token_change(token, entry)


def _close_all_but(descriptors: Iterable[int]) -> None:
    first = 3
    for descriptor in sorted(each for each in descriptors if each >= first):
        os.closerange(first, descriptor)
        first = descriptor + 1
    os.closerange(first, 1 << 20)


def _without_copy(value: Any, memo: Any = None) -> Any:
    return value


async def _ended(child: int) -> int:
    """Wait for ``child``; return its wait status. Kill a child that hangs."""
    deadline = time.monotonic() + DEADLINE
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return status
        if time.monotonic() > deadline:
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        await asyncio.sleep(0.02)
