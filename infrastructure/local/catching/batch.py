"""Store messages that arrive together in one transaction of the mailbox.

What arrives in one round of the event loop is stored at the end of that round, in the loop itself:
a thread and a transaction for each message take longer than all else that is done for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from infrastructure.local.mailbox.mailbox import SinkMailbox
from infrastructure.local.mailbox.trace import Trace

_Copy = tuple[Trace, bytes]
_Entry = tuple[Sequence[_Copy], asyncio.Future[str]]


class StoringBatch:
    """The messages of a round, for use by one event loop."""

    def __init__(self, mailbox: SinkMailbox) -> None:
        self._mailbox = mailbox
        self._entries: list[_Entry] = []

    async def store(self, copies: Sequence[_Copy]) -> str:
        """Store the copies of a message; return the id of the first.

        Raises what ``SinkMailbox.store`` raises; then no copy is stored.
        """
        loop = asyncio.get_running_loop()
        if not self._entries:
            loop.call_soon(self._store_all)
        # If the client leaves, its message is stored all the same, as on any server
        future: asyncio.Future[str] = loop.create_future()
        self._entries.append((copies, future))
        return await future

    def _store_all(self) -> None:
        entries, self._entries = self._entries, []
        try:
            ids = self._mailbox.store_all([copy for copies, _ in entries for copy in copies])
        except Exception as error:
            if len(entries) == 1:
                _set_error(entries[0][1], error)
                return
            for entry in entries:  # the fault may be that of one of them
                self._entries = [entry]
                self._store_all()
            return
        place = 0
        for copies, future in entries:
            if not future.done():
                future.set_result(ids[place])
            place += len(copies)


def _set_error(future: asyncio.Future[str], error: Exception) -> None:
    if not future.done():
        future.set_exception(error)
