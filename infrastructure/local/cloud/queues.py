"""Find the stored queue of each queue that MiniStack declares, and wake those who wait for it."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from ministack.core.responses import get_account_id, get_region
from ministack.services import sqs

from chalicelib.core.json_types import Json
from infrastructure.local.cloud.store import Store
from infrastructure.local.cloud.stored_queue import (
    MinistackMessages,
    MinistackQueue,
    Name,
    StoredQueue,
)
from infrastructure.local.cloud.table_keys import Unusual


class Queues:
    """All queues but FIFO queues. Those that MiniStack declares are stored once `adopt` ran."""

    def __init__(self, store: Store, loop: asyncio.AbstractEventLoop) -> None:
        self.store = store
        self._loop = loop
        self._queues: dict[Name, StoredQueue] = {}
        self._by_arn: dict[str, StoredQueue] = {}
        self._receivers: defaultdict[int, set[asyncio.Future[None]]] = defaultdict(set)

    def __iter__(self) -> Iterator[StoredQueue]:
        return iter(list(self._queues.values()))

    def find(self, url: Any) -> StoredQueue:
        """Return a queue of the current request, by its URL at any address."""
        parts = urlsplit(url).path.split("/") if isinstance(url, str) else []
        account, name = parts[-2:] if len(parts) > 1 else ("", "")
        queue = self._queues.get((account, get_region(), name))
        if queue is None or account != get_account_id() or queue.attributes.get("Policy"):
            raise Unusual
        return queue

    def dead(self, queue: StoredQueue) -> tuple[int, StoredQueue] | None:
        """Return after how many receipts messages of a queue go to which other queue."""
        redrive = queue.redrive
        target = self._by_arn.get(redrive[1]) if redrive else None
        return None if redrive is None or target is None else (redrive[0], target)

    @contextmanager
    def receiver(self, queue: StoredQueue) -> Iterator[asyncio.Future[None]]:
        """Within the block, the future is done when there may be messages of a queue."""
        future: asyncio.Future[None] = self._loop.create_future()
        receivers = self._receivers[queue.number]
        receivers.add(future)
        try:
            yield future
        finally:
            receivers.discard(future)

    def adopt(self) -> None:
        """Store what MiniStack has declared or filled since the last call, and drop the rest."""
        declared = {
            name: queue for name, queue in sqs._queues._data.items() if not queue["is_fifo"]
        }
        rows = self.store.read("SELECT account, region, url, number FROM queues").fetchall()
        numbers = {(row[0], row[1], row[2]): row[3] for row in rows}
        for name in numbers.keys() - declared.keys():
            self.store.write("DELETE FROM messages WHERE queue = ?", (numbers[name],))
            self.store.write("DELETE FROM queues WHERE number = ?", (numbers[name],))
        targets = {
            name: self._adopted(name, queue, numbers.get(name)) for name, queue in declared.items()
        }
        self._queues = {
            (account, region, declared[account, region, url]["name"]): target
            for (account, region, url), target in targets.items()
        }
        self._by_arn = {target.attributes["QueueArn"]: target for target in targets.values()}

    def _adopted(self, name: Name, queue: Json, number: int | None) -> StoredQueue:
        if isinstance(queue, MinistackQueue):
            target: StoredQueue = queue["messages"].target
            if number is None:
                # The transaction in which it was stored was lost
                self.store.write("INSERT INTO queues VALUES (?, ?, ?, ?)", (target.number, *name))
            return target
        if number is None:
            sql = "INSERT INTO queues (account, region, url) VALUES (?, ?, ?)"
            number = self.store.write(sql, name).lastrowid
            assert number is not None
        adopted = MinistackQueue(queue)
        target = StoredQueue(self.store, number, name, adopted, self._wake)
        messages = queue.get("messages") or ()
        dict.__setitem__(adopted, "messages", MinistackMessages(target))
        for message in messages:
            target.restore(message)
        sqs._queues._data[name] = adopted
        return target

    def _wake(self, number: int) -> None:
        """Wake those who wait for a queue; any thread may do so."""
        if self._receivers.get(number):
            self._loop.call_soon_threadsafe(self._wake_now, number)

    def _wake_now(self, number: int) -> None:
        for future in self._receivers[number]:
            if not future.done():
                future.set_result(None)
