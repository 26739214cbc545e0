"""Bring recorded events from the workers to the gateway."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from chalicelib.events import documentation
from chalicelib.events.view import event_view
from chalicelib.recording import observers
from infrastructure.local import live_events
from infrastructure.local.live_events import EventReceiver, EventSender
from tests.unit.infrastructure.local.running import DEADLINE_SECONDS

OPEN = documentation.sample("open")


def received(data_dir: Path, test: Callable[[list[Any]], Awaitable[None]]) -> list[Any]:
    """Run a test while the gateway listens; return what it got."""
    events: list[Any] = []

    async def listen() -> None:
        receiver = EventReceiver(data_dir, events.append)
        await receiver.start()
        try:
            await test(events)
        finally:
            await receiver.stop()

    asyncio.run(listen())
    return events


async def until(events: list[Any], count: int) -> None:
    async def wait() -> None:
        while len(events) < count:
            await asyncio.sleep(0.005)

    await asyncio.wait_for(wait(), DEADLINE_SECONDS)


def test_events_arrive_as_searches_show_them(tmp_path: Path) -> None:
    async def test(events: list[Any]) -> None:
        await asyncio.to_thread(EventSender(tmp_path), [OPEN, {"type": "unknown"}])
        await until(events, 1)

    assert received(tmp_path, test) == [event_view(OPEN)]


def test_a_batch_with_very_many_events_ends_with_a_gap(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_events, "MOST_IN_BATCH", 3)

    async def test(events: list[Any]) -> None:
        await asyncio.to_thread(EventSender(tmp_path), [OPEN] * 5)
        await until(events, 4)

    assert received(tmp_path, test) == [event_view(OPEN)] * 3 + [None]


def test_nobody_else_can_put_events_into_the_stream(tmp_path: Path) -> None:
    async def test(events: list[Any]) -> None:
        (path,) = tmp_path.iterdir()
        address = json.loads(path.read_text())
        assert path.stat().st_mode & 0o077 == 0
        reader, writer = await asyncio.open_connection("127.0.0.1", address["port"])
        writer.write(b'guess\n{"type": "open"}\n')
        assert await asyncio.wait_for(reader.read(), DEADLINE_SECONDS) == b""
        writer.close()
        await asyncio.to_thread(EventSender(tmp_path), [OPEN])
        await until(events, 1)

    assert received(tmp_path, test) == [event_view(OPEN)]


def test_a_line_that_cannot_be_read_is_a_gap(tmp_path: Path) -> None:
    async def test(events: list[Any]) -> None:
        (path,) = tmp_path.iterdir()
        address = json.loads(path.read_text())
        _, writer = await asyncio.open_connection("127.0.0.1", address["port"])
        writer.write(address["secret"].encode() + b"\n{\n")
        await until(events, 1)
        writer.close()

    assert received(tmp_path, test) == [None]


def test_without_a_listener_a_worker_opens_no_connection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_events.socket, "create_connection", pytest.fail)
    EventSender(tmp_path)([OPEN])


def test_a_gateway_that_was_killed_holds_up_no_worker(tmp_path: Path) -> None:
    async def listen_and_die() -> str:
        receiver = EventReceiver(tmp_path, pytest.fail)
        await receiver.start()
        (path,) = tmp_path.iterdir()
        text = path.read_text()
        await receiver.stop()
        return text

    (tmp_path / "live-events.json").write_text(asyncio.run(listen_and_die()))
    EventSender(tmp_path)([OPEN])
    EventReceiver(tmp_path, pytest.fail)
    assert not list(tmp_path.iterdir())


def test_an_observer_that_fails_changes_nothing() -> None:
    calls: list[Any] = []

    def fail(events: Any) -> None:
        raise OSError

    for observer in (fail, calls.append):
        observers.add(observer)
    try:
        observers.notify([OPEN])
    finally:
        for observer in (fail, calls.append):
            observers.remove(observer)
    assert calls == [[OPEN]]
