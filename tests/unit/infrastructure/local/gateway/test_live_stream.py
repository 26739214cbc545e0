"""Stream news to listeners, and watch nothing without them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from infrastructure.local.gateway import live_stream
from infrastructure.local.gateway.live_feed import LiveFeed
from infrastructure.local.gateway.live_stream import LiveStream
from infrastructure.local.gateway.mailbox_endpoint import MailboxEndpoint
from infrastructure.local.gateway.mailbox_news import MOST_MESSAGES, MailboxNews
from infrastructure.local.mailbox.mailbox import SinkMailbox
from infrastructure.local.messages.details import Detailer

DEADLINE_SECONDS = 60.0
MOST_ENTRIES = 20


class Sources:
    """A polled and a pushing source."""

    def __init__(self) -> None:
        self.pending: list[tuple[str, Any]] = []
        self.looks = 0
        self.is_started = False

    def begin(self) -> None:
        self.pending.clear()

    def news(self) -> list[tuple[str, Any]]:
        self.looks += 1
        news = self.pending[:]
        del self.pending[: len(news)]
        if ("fault", None) in news:
            raise OSError
        return news

    def counts(self) -> dict[str, int]:
        return {"messages": 7}

    async def start(self) -> None:
        self.is_started = True

    async def stop(self) -> None:
        self.is_started = False


class StreamEvent(NamedTuple):
    event_id: str
    kind: str
    data: Any


class Listener:
    """A client of the stream."""

    def __init__(self, stream: LiveStream, last_event_id: str = "", method: str = "GET") -> None:
        self.text = ""
        self.status = 0
        self.can_read = asyncio.Event()
        self.can_read.set()
        self._departure = asyncio.Event()
        headers = [(b"last-event-id", last_event_id.encode())] if last_event_id else []
        scope = {"method": method, "headers": headers}
        self.task = asyncio.create_task(stream.stream(scope, self._receive, self._send))

    async def leave(self) -> None:
        self._departure.set()
        await asyncio.wait_for(self.task, DEADLINE_SECONDS)

    async def _receive(self) -> Any:
        await self._departure.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Any) -> None:
        await self.can_read.wait()
        self.status = message.get("status", self.status)
        self.text += message.get("body", b"").decode()

    @property
    def events(self) -> list[StreamEvent]:
        events = []
        for block in self.text.split("\n\n"):
            fields = dict(line.partition(": ")[::2] for line in block.split("\n"))
            if "event" in fields:
                data = json.loads(fields["data"])
                events.append(StreamEvent(fields.get("id", ""), fields["event"], data))
        return events

    @property
    def kinds(self) -> list[str]:
        return [event.kind for event in self.events]


async def eventually(condition: Callable[[], Any]) -> None:
    async def wait() -> None:
        while not condition():
            await asyncio.sleep(0.005)

    await asyncio.wait_for(wait(), DEADLINE_SECONDS)


class Setting:
    """A stream over sources, for the time of a test."""

    def __init__(self, **options: Any) -> None:
        self.sources = Sources()
        self.feed = LiveFeed(MOST_ENTRIES)
        self.is_stopping = False
        self.stream = LiveStream(
            self.feed, self.sources, self.sources, is_stopping=lambda: self.is_stopping, **options
        )


def run(test: Callable[[Setting], Awaitable[None]], **options: Any) -> None:
    async def run_and_stop() -> None:
        setting = Setting(**options)
        try:
            await test(setting)
        finally:
            setting.is_stopping = True
            setting.feed.wake()
            await eventually(lambda: not setting.stream.is_watching)

    asyncio.run(run_and_stop())


@pytest.fixture(autouse=True)
def quick_polls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_stream, "POLL_SECONDS", 0.005)


def test_every_listener_gets_what_is_new_and_the_counts_first() -> None:
    async def test(setting: Setting) -> None:
        listeners = [Listener(setting.stream) for _ in range(5)]
        await eventually(lambda: all(each.kinds for each in listeners))
        setting.sources.pending += [("message", {"id": "1"}), ("event", {"type": "open"})]
        await eventually(lambda: all(len(each.kinds) == 3 for each in listeners))
        for listener in listeners:
            assert listener.text.startswith("retry: 1000\n\n")
            assert listener.events[0] == StreamEvent("", "mailbox", {"messages": 7})
            assert listener.events[1][1:] == ("message", {"id": "1"})
            assert listener.events[2][1:] == ("event", {"type": "open"})
            await listener.leave()

    run(test)


def test_a_listener_that_comes_back_gets_what_it_missed() -> None:
    async def test(setting: Setting) -> None:
        first = Listener(setting.stream)
        await eventually(lambda: first.kinds)
        setting.sources.pending.append(("message", 1))
        await eventually(lambda: len(first.kinds) == 2)
        await first.leave()
        setting.sources.pending += [("message", 2), ("message", 3)]
        await eventually(lambda: not setting.sources.pending)
        again = Listener(setting.stream, first.events[-1].event_id)
        await eventually(lambda: len(again.kinds) == 3)
        assert [event.data for event in again.events[1:]] == [2, 3]
        await again.leave()

    run(test)


def test_a_listener_that_was_away_too_long_is_told_of_the_gap() -> None:
    async def test(setting: Setting) -> None:
        listener = Listener(setting.stream, "0badbeef-7")
        await eventually(lambda: len(listener.kinds) == 2)
        assert listener.kinds == ["mailbox", "gap"]
        setting.sources.pending.append(("message", 1))
        await eventually(lambda: len(listener.kinds) == 3)
        await listener.leave()

    run(test)


def test_a_slow_listener_misses_entries_and_holds_up_no_other() -> None:
    async def test(setting: Setting) -> None:
        slow, quick = Listener(setting.stream), Listener(setting.stream)
        await eventually(lambda: slow.kinds and quick.kinds)
        slow.can_read.clear()
        for number in range(3 * MOST_ENTRIES):
            setting.feed.publish("message", number)
            await eventually(lambda number=number: quick.events[-1].data == number)  # type: ignore[misc]
        slow.can_read.set()
        await eventually(lambda: slow.events[-1].data == 3 * MOST_ENTRIES - 1)
        assert slow.kinds.count("gap") == 1
        assert quick.kinds.count("gap") == 0
        await slow.leave()
        await quick.leave()

    run(test)


def test_nothing_is_watched_without_listeners() -> None:
    async def test(setting: Setting) -> None:
        assert not setting.stream.is_watching
        listener = Listener(setting.stream)
        await eventually(lambda: setting.sources.looks and setting.sources.is_started)
        await listener.leave()
        await eventually(lambda: not setting.stream.is_watching)
        assert not setting.sources.is_started
        looks = setting.sources.looks
        again = Listener(setting.stream)
        await eventually(lambda: setting.sources.looks > looks)
        await again.leave()

    run(test, linger_seconds=0.0)


def test_a_quiet_stream_has_heartbeats() -> None:
    async def test(setting: Setting) -> None:
        listener = Listener(setting.stream)
        await eventually(lambda: listener.text.count(": heartbeat\n\n") > 2)
        await listener.leave()

    run(test, heartbeat_seconds=0.005)


def test_streams_end_with_the_server() -> None:
    async def test(setting: Setting) -> None:
        listener = Listener(setting.stream)
        await eventually(lambda: listener.kinds)
        setting.is_stopping = True
        await asyncio.wait_for(listener.task, DEADLINE_SECONDS)

    run(test)


def test_a_source_that_fails_leaves_a_gap() -> None:
    async def test(setting: Setting) -> None:
        listener = Listener(setting.stream)
        await eventually(lambda: listener.kinds)
        setting.sources.pending.append(("fault", None))
        await eventually(lambda: listener.kinds[-1] == "gap")
        await listener.leave()

    run(test)


def test_there_is_a_limit_of_listeners(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_stream, "MOST_LISTENERS", 1)

    async def test(setting: Setting) -> None:
        first = Listener(setting.stream)
        await eventually(lambda: first.kinds)
        second = Listener(setting.stream)
        await asyncio.wait_for(second.task, DEADLINE_SECONDS)
        assert second.status == 503
        await first.leave()

    run(test)


def test_head_is_answered_without_a_stream() -> None:
    async def test(setting: Setting) -> None:
        listener = Listener(setting.stream, method="HEAD")
        await asyncio.wait_for(listener.task, DEADLINE_SECONDS)
        assert (listener.status, listener.text) == (200, "")
        assert not setting.stream.is_watching

    run(test)


class Box:
    """A mailbox that a sink fills and a gateway watches, each with a connection of its own."""

    def __init__(self, root: Path) -> None:
        self.sink = SinkMailbox(root)
        self.mailbox = SinkMailbox(root)
        endpoint = MailboxEndpoint(self.mailbox, Detailer(self.mailbox, lambda _: {}))
        self.news = MailboxNews(self.mailbox, endpoint)

    def add(self, subject: str = "Hello") -> str:
        return self.sink.add("", "ann@b.test", f"Subject: {subject}\r\n\r\nText".encode())

    def latest(self) -> list[tuple[str, Any]]:
        return list(self.news.news())


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Box]:
    box = Box(tmp_path)
    yield box
    box.sink.close()
    box.mailbox.close()


def test_messages_that_arrive_are_news_with_their_details(box: Box) -> None:
    box.add("before")
    box.news.begin()
    assert box.latest() == []
    ids = [box.add("first"), box.add("second")]
    *messages, (kind, counts) = box.latest()
    assert [(kind, entry["id"]) for kind, entry in messages] == [("message", each) for each in ids]
    assert messages[0][1]["subject"] == "first"
    assert messages[0][1]["snippet"] == "Text"
    assert (kind, counts) == ("mailbox", {"messages": 3, "unread": 3})
    assert box.latest() == []


def test_flags_and_deletions_change_the_counts(box: Box) -> None:
    first, second = box.add(), box.add()
    box.news.begin()
    box.mailbox.set_unread([first], False)
    assert box.latest() == [("mailbox", {"messages": 2, "unread": 1})]
    box.mailbox.delete(second)
    assert box.latest() == [("mailbox", {"messages": 1, "unread": 0})]
    box.mailbox.clear()
    assert box.latest() == [("mailbox", {"messages": 0, "unread": 0})]
    box.add()
    assert [kind for kind, _ in box.latest()] == ["message", "mailbox"]


def test_very_many_messages_at_once_are_a_gap(box: Box) -> None:
    box.news.begin()
    for _ in range(MOST_MESSAGES + 1):
        box.add()
    assert [kind for kind, _ in box.latest()] == ["gap", "mailbox"]
    last = box.add()
    assert [entry["id"] for kind, entry in box.latest() if kind == "message"] == [last]
