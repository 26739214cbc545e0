"""Messages that arrive in one round of the event loop are stored in one call of the mailbox."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from pathlib import Path

import pytest

from infrastructure.local.catching.batch import StoringBatch
from infrastructure.local.mailbox.mailbox import SinkMailbox
from infrastructure.local.mailbox.trace import Trace

MESSAGE = b"Subject: s\r\n\r\nText\r\n"
TIMEOUT = 10.0
BAD = Trace("bad\r\n@a.test", ("b@b.test",))


class CountingMailbox(SinkMailbox):
    """Remembers how many messages each call stored, or was to store."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.calls: list[int] = []

    def store_all(self, messages: Iterable[tuple[Trace, bytes]]) -> list[str]:
        self.calls.append(len(messages := [*messages]))
        return super().store_all(messages)


@pytest.fixture
def mailbox(tmp_path: Path) -> CountingMailbox:
    return CountingMailbox(tmp_path)


def copies(number: int, count: int = 1) -> list[tuple[Trace, bytes]]:
    trace = Trace(f"{number}@a.test", ("b@b.test",))
    return [(trace, MESSAGE)] * count


def store(mailbox: SinkMailbox, *entries: list[tuple[Trace, bytes]]) -> list[str | BaseException]:
    """Store messages as clients that send at the same time."""

    async def arrive() -> list[str | BaseException]:
        batch = StoringBatch(mailbox)
        stores = (batch.store(each) for each in entries)
        async with asyncio.timeout(TIMEOUT):
            return await asyncio.gather(*stores, return_exceptions=True)

    return asyncio.run(arrive())


def test_messages_of_a_round_are_stored_together_each_with_its_own_id(
    mailbox: CountingMailbox,
) -> None:
    message_ids = store(mailbox, copies(1), copies(2, count=3), copies(3))
    assert mailbox.calls == [5]
    rows = [mailbox.index.row(str(each)) for each in message_ids]
    assert [row.author for row in rows if row] == ["1@a.test", "2@a.test", "3@a.test"]


def test_one_that_cannot_be_stored_does_not_hold_up_the_others(mailbox: CountingMailbox) -> None:
    first, second, third = store(mailbox, copies(1), [(BAD, MESSAGE)], copies(3))
    assert isinstance(second, ValueError)
    assert mailbox.calls == [3, 1, 1, 1]
    assert [entry["id"] for entry in mailbox.list()] == [third, first]


def test_a_client_that_has_left_does_not_hold_up_the_others(mailbox: CountingMailbox) -> None:
    async def arrive() -> str:
        batch = StoringBatch(mailbox)
        leaving = asyncio.create_task(batch.store(copies(1)))
        staying = asyncio.create_task(batch.store(copies(2)))
        asyncio.get_running_loop().call_soon(leaving.cancel)
        return await staying

    message_id = asyncio.run(arrive())
    assert message_id in [entry["id"] for entry in mailbox.list()]
    assert len(mailbox.list()) == 2
