"""The mailbox keeps its limits, and details are worked out, while nobody waits for it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from infrastructure.local.gateway import mailbox_upkeep
from infrastructure.local.gateway.activity import Activity
from infrastructure.local.gateway.mailbox_upkeep import MailboxUpkeep
from infrastructure.local.mailbox.mailbox import SinkMailbox
from infrastructure.local.mailbox.mailbox_query import conditions_of
from infrastructure.local.mailbox.trace import Trace
from infrastructure.local.messages.details import Detailer
from tests.unit.infrastructure.local.mailbox.searched_box import details

DEADLINE_SECONDS = 20.0


class WatchedBox:
    """A mailbox that another process fills, with its upkeep."""

    def __init__(self, root: Path) -> None:
        self.sink = SinkMailbox(root)
        self.mailbox = SinkMailbox(root)
        self.detailer = Detailer(self.mailbox, lambda _: {})
        self.activity = Activity()
        self.now = time.time()

    def upkeep(self, max_messages: int = 0, max_age: float = 0.0) -> MailboxUpkeep:
        return MailboxUpkeep(
            self.mailbox,
            self.detailer,
            self.activity,
            max_messages=max_messages,
            max_age=max_age,
            now=lambda: self.now,
        )

    def add(self, number: int = 1, inbox: str = "") -> list[str]:
        trace = Trace("", ("ann@b.test",), inbox=inbox)
        return self.sink.store_all([(trace, b"Subject: Hi\r\n\r\nspring sale")] * number)

    def looked(self, upkeep: MailboxUpkeep, times: int) -> None:
        """Let it look at the mailbox some times."""

        async def look() -> None:
            for _ in range(times):
                await upkeep.look()

        asyncio.run(look())

    def undetailed(self) -> int:
        return len(self.mailbox.index.undetailed(None, 10_000))


@pytest.fixture
def box(tmp_path: Path) -> Iterator[WatchedBox]:
    box = WatchedBox(tmp_path)
    yield box
    box.sink.close()
    box.mailbox.close()


async def until_true(condition: object) -> None:
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < deadline
        await asyncio.sleep(0.01)


def test_after_a_burst_only_the_newest_messages_are_left(box: WatchedBox) -> None:
    ids = box.add(2000)

    async def run() -> float:
        upkeep = box.upkeep(max_messages=500)
        await upkeep.start()
        began = time.monotonic()
        await until_true(lambda: box.mailbox.index.counts()[0] == 500)
        seconds = time.monotonic() - began
        await upkeep.stop()
        return seconds

    assert asyncio.run(run()) < 5
    assert sorted(box.mailbox.index.ids()) == ids[1500:]


def test_each_inbox_has_its_own_limit(box: WatchedBox) -> None:
    box.add(5, "a")
    box.add(2, "b")
    box.add(4)
    subaccount_ids = box.add(4, "c")
    box.mailbox.index.add_details(
        [details(each, message_id="00", subaccount_id=7) for each in subaccount_ids]
    )
    box.looked(box.upkeep(max_messages=3), 1)
    assert [(each.name, each.messages) for each in box.mailbox.index.inboxes()] == [
        *(("", 3), ("a", 3), ("b", 2), ("c", 3)),
        ("subaccount:7", 3),
    ]


def test_a_limit_holds_for_a_subaccount_in_several_inboxes(box: WatchedBox) -> None:
    ids = [*box.add(2, "a"), *box.add(2, "b")]
    box.mailbox.index.add_details([details(each, message_id="00", subaccount_id=7) for each in ids])
    box.looked(box.upkeep(max_messages=3), 1)
    assert sorted(box.mailbox.index.ids()) == ids[1:]


def test_old_messages_go_also_when_no_mail_comes(
    box: WatchedBox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mailbox_upkeep, "TRIM_SECONDS", 0.0)
    box.add(3)
    upkeep = box.upkeep(max_age=3600)
    box.looked(upkeep, 1)
    assert box.mailbox.index.counts()[0] == 3
    box.now += 3700
    box.looked(upkeep, 1)
    assert box.mailbox.index.counts()[0] == 0


def test_without_limits_nothing_is_deleted(box: WatchedBox) -> None:
    box.add(3)
    box.now += 1e9
    box.looked(box.upkeep(), 1)
    assert box.mailbox.index.counts()[0] == 3


def test_details_are_worked_out_before_anybody_asks(box: WatchedBox) -> None:
    box.add(60)
    upkeep = box.upkeep()
    box.looked(upkeep, 1)
    assert box.undetailed() == 60  # so much mail means that more is coming
    box.looked(upkeep, 6)
    assert box.undetailed() == 0
    assert box.mailbox.index.count(conditions_of("sale"))[0] == 60


def test_without_new_mail_there_is_only_a_look(box: WatchedBox) -> None:
    box.add()
    upkeep = box.upkeep()
    box.looked(upkeep, 6)
    changes = box.mailbox.index.version()
    statements: list[str] = []
    box.mailbox.index._database.set_trace_callback(statements.append)
    box.looked(upkeep, 3)
    assert box.mailbox.index.version() == changes
    assert len(set(statements)) == 2, statements


def test_work_pauses_while_requests_are_served(
    box: WatchedBox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mailbox_upkeep, "QUIET_SECONDS", 0.5)
    box.add(50)
    upkeep = box.upkeep()
    box.looked(upkeep, 2)  # so much mail is waited for, and old details are dropped
    box.activity.note()
    box.looked(upkeep, 1)
    assert box.undetailed() == 50 - mailbox_upkeep.STEP_MESSAGES


def test_a_failure_ends_nothing(box: WatchedBox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mailbox_upkeep, "_AFTER_FAILURE_SECONDS", 0.0)
    monkeypatch.setattr(mailbox_upkeep, "POLL_SECONDS", 0.01)
    box.add()
    work = box.detailer.add_some
    failures = [OSError("no table"), OSError("no table")]

    def fail_at_first(most: int) -> bool:
        if failures:
            raise failures.pop()
        return work(most)

    monkeypatch.setattr(box.detailer, "add_some", fail_at_first)

    async def run() -> None:
        upkeep = box.upkeep()
        await upkeep.start()
        await until_true(lambda: not box.undetailed())
        await upkeep.stop()
        await upkeep.stop()

    asyncio.run(run())
