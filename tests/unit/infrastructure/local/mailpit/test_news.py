"""Listeners of the WebSocket learn what happens in the mailbox."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from infrastructure.local.mailpit import VERSION, listeners
from infrastructure.local.mailpit.listeners import Listeners
from tests.unit.infrastructure.local.mailpit.mailpit_client import MailpitClient
from tests.unit.infrastructure.local.mailpit.published_fields import SUMMARY, faults

SECONDS = 10.0


class Listener:
    """A client of the WebSocket, without a network."""

    def __init__(self) -> None:
        self.received: asyncio.Queue[Any] = asyncio.Queue()
        self.said: asyncio.Queue[Any] = asyncio.Queue()
        self.said.put_nowait({"type": "websocket.connect"})

    async def receive(self) -> Any:
        return await self.said.get()

    async def send(self, message: Any) -> None:
        self.received.put_nowait(message)

    def leave(self) -> None:
        self.said.put_nowait({"type": "websocket.disconnect", "code": 1000})

    async def next(self, kind: str) -> Any:
        """Return the data of the next news of a kind."""
        async with asyncio.timeout(SECONDS):
            while True:
                message = await self.received.get()
                if message["type"] == "websocket.send":
                    news = json.loads(message["text"])
                    if news["Type"] == kind:
                        return news["Data"]


@asynccontextmanager
async def listening(client: MailpitClient) -> AsyncIterator[Listener]:
    listener = Listener()
    scope = {
        "type": "websocket",
        "path": listeners.PATH,
        "raw_path": listeners.PATH.encode(),
        "headers": [(b"host", b"localhost")],
        "client": ("127.0.0.1", 1),
    }
    serving = asyncio.create_task(client.service.port(scope, listener.receive, listener.send))
    assert await listener.received.get() == {"type": "websocket.accept"}
    try:
        yield listener
    finally:
        listener.leave()
        await serving
        await client.service.news.stop()


async def ask(client: MailpitClient, method: str, target: str, body: Any = None) -> None:
    await client._ask(method, target, body, (), b"localhost", "127.0.0.1")


def test_listeners_learn_of_mail_and_of_changes(tmp_path: Path) -> None:
    client = MailpitClient(tmp_path)
    client.add("earlier")

    async def listen() -> None:
        async with listening(client) as listener:
            stats = await listener.next("stats")
            assert stats == {"Total": 1, "Unread": 1, "Version": VERSION}
            message_id = client.add("fresh")
            summary = await listener.next("new")
            assert faults(summary, SUMMARY) == []
            assert (summary["ID"], summary["Subject"]) == (message_id, "fresh")
            assert (await listener.next("stats"))["Total"] == 2
            await ask(client, "GET", f"/api/v1/message/{message_id}")
            assert await listener.next("update") == {"ID": message_id, "Read": True}
            body = {"IDs": [message_id], "Tags": ["a"]}
            await ask(client, "PUT", "/api/v1/tags", body)
            assert await listener.next("update") == {"ID": message_id, "Tags": ["a"]}
            await ask(client, "DELETE", "/api/v1/tags/a")
            assert await listener.next("prune") is None
            await ask(client, "DELETE", "/api/v1/messages", {"IDs": [message_id]})
            assert await listener.next("delete") == {"ID": message_id}
            await ask(client, "DELETE", "/api/v1/messages")
            assert await listener.next("truncate") is None

    asyncio.run(listen())


def test_listeners_learn_that_others_deleted_messages(tmp_path: Path) -> None:
    client = MailpitClient(tmp_path)
    message_id = client.add()

    async def listen() -> None:
        async with listening(client) as listener:
            assert (await listener.next("stats"))["Total"] == 1
            client.mailbox.delete(message_id)
            assert await listener.next("prune") is None
            assert (await listener.next("stats"))["Total"] == 0

    asyncio.run(listen())


def test_rules_tag_while_nobody_listens(tmp_path: Path) -> None:
    client = MailpitClient(tmp_path, {"MAILBOX_TAGS": "big=subject:sale"})

    async def wait_for_tags() -> None:
        await client.service.news.start()
        client.add("a sale")
        async with asyncio.timeout(SECONDS):
            while not client.mailbox.index.tags():
                await asyncio.sleep(0.01)
        await client.service.news.stop()

    asyncio.run(wait_for_tags())
    assert client.mailbox.index.tags() == {"big": 1}


def test_one_who_does_not_read_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listeners, "MOST_WAITING", 3)
    hub = Listeners()

    async def listen() -> list[Any]:
        listener, gate = Listener(), asyncio.Event()

        async def send(message: Any) -> None:
            await listener.send(message)
            if message["type"] == "websocket.send":
                await gate.wait()

        serving = asyncio.create_task(hub.serve({}, listener.receive, send))
        await listener.received.get()
        await asyncio.sleep(0)
        for number in range(10):
            hub.publish("new", number)
        await asyncio.sleep(0)
        assert hub.number == 0
        gate.set()
        async with asyncio.timeout(SECONDS):
            await serving
        return [listener.received.get_nowait() for _ in range(listener.received.qsize())]

    *news, end = asyncio.run(listen())
    assert [json.loads(each["text"])["Data"] for each in news] == [0, 1, 2]
    assert end["type"] == "websocket.close"


def test_there_are_not_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listeners, "MOST_LISTENERS", 0)
    listener = Listener()
    asyncio.run(Listeners().serve({}, listener.receive, listener.send))
    assert listener.received.get_nowait()["type"] == "websocket.accept"
    assert listener.received.get_nowait() == {"type": "websocket.close", "code": 1013}
