"""Stream new messages and events to any number of listeners: ``GET /local/stream``.

The stream has the form of server-sent events (HTML, section 9.2). Its events:

- ``message``: a message arrived in the mailbox; ``data`` is its entry in the list, with details
- ``mailbox``: the numbers of messages and of unread ones; the first event, and when they change
- ``event``: an event was recorded; ``data`` is what a search of message events shows of it
- ``webhook``: the webhook receiver got a request
- ``gap``: some of the above are missing; lists should be loaded again

A client that reconnects gets what it missed, by ``Last-Event-ID``. Without listeners nothing is
watched; the sources stop half a minute after the last one has gone.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, Protocol

from infrastructure.local.gateway.live_feed import LiveFeed
from infrastructure.local.gateway.local_api import LocalRoute
from infrastructure.local.gateway.replies import SAFE_HEADERS, error_body, reply, reply_json
from infrastructure.local.gateway.request_body import Receive, Scope, Send

log = logging.getLogger(__name__)

PATH = "/local/stream"
MOST_LISTENERS = 100
HEARTBEAT_SECONDS = 15.0
POLL_SECONDS = 0.1
LINGER_SECONDS = 30.0
_AT_ONCE = 100


class PolledSource(Protocol):
    """A source that is asked for news; it may block."""

    def begin(self) -> None:
        """Forget what happened before now."""

    def news(self) -> Iterable[tuple[str, Any]]:
        """Return type and data of what happened since the last call."""

    def counts(self) -> dict[str, int]:
        """Return the data of a ``mailbox`` event."""


class PushingSource(Protocol):
    """A source that publishes by itself between ``start`` and ``stop``."""

    async def start(self) -> None:
        """Begin."""

    async def stop(self) -> None:
        """End."""


class LiveStream:
    """The stream as an ASGI callable, and the life of its sources."""

    def __init__(
        self,
        feed: LiveFeed,
        polled: PolledSource,
        pushing: PushingSource,
        *,
        is_stopping: Callable[[], bool] = lambda: False,
        linger_seconds: float = LINGER_SECONDS,
        heartbeat_seconds: float = HEARTBEAT_SECONDS,
    ) -> None:
        """``is_stopping`` tells that the server ends, and with it all streams."""
        self._feed = feed
        self._polled = polled
        self._pushing = pushing
        self._is_stopping = is_stopping
        self._linger_seconds = linger_seconds
        self._heartbeat_seconds = heartbeat_seconds
        self._listeners = 0
        self._watcher: asyncio.Task[None] | None = None
        self._starting = asyncio.Lock()

    def routes(self) -> list[LocalRoute]:
        """Return the routes."""
        return [LocalRoute("GET", PATH, self.stream, streams=True)]

    @property
    def is_watching(self) -> bool:
        """Tell whether the sources run."""
        return self._watcher is not None and not self._watcher.done()

    async def stream(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the stream until the client or the server ends it."""
        if scope["method"] == "HEAD":
            await reply(send, 200, b"", "text/event-stream", SAFE_HEADERS)
        elif self._listeners >= MOST_LISTENERS:
            await reply_json(send, 503, error_body(f"there are {MOST_LISTENERS} listeners already"))
        else:
            self._listeners += 1
            try:
                await self._watch()
                await self._serve(dict(scope["headers"]), receive, send)
            finally:
                self._listeners -= 1

    async def _serve(self, headers: dict[bytes, bytes], receive: Receive, send: Send) -> None:
        last_id = headers.get(b"last-event-id", b"").decode("latin-1")
        position = self._feed.position_of(last_id)
        misses_some = bool(last_id) and position is None
        position = self._feed.end if position is None else position
        names = {**SAFE_HEADERS, "content-type": "text/event-stream"}
        encoded = [(name.encode(), value.encode()) for name, value in names.items()]
        await send({"type": "http.response.start", "status": 200, "headers": encoded})
        await _send(send, "retry: 1000\n\n")
        await _send(
            send, _text("mailbox", json.dumps(await asyncio.to_thread(self._polled.counts)))
        )
        disconnect = asyncio.create_task(_disconnect(receive))
        try:
            while not disconnect.done() and not self._is_stopping():
                changed = self._feed.changed
                entries, is_gap = self._feed.after(position, _AT_ONCE)
                text = ""
                if is_gap or misses_some:
                    start = entries[0].number - 1 if entries else self._feed.end
                    text = _text("gap", "{}", self._feed.event_id(start))
                    position, misses_some = start, False
                for number, kind, data in entries:
                    text += _text(kind, data, self._feed.event_id(number))
                    position = number
                if not text and not await self._wait(changed, disconnect):
                    text = ": heartbeat\n\n"
                if text:
                    await _send(send, text)
        finally:
            disconnect.cancel()
        with suppress(OSError):
            await send({"type": "http.response.body", "body": b""})

    async def _wait(self, changed: asyncio.Event, disconnect: asyncio.Task[None]) -> bool:
        """Wait for an entry or the end; False if it is time for a heartbeat."""
        change = asyncio.create_task(changed.wait())
        try:
            done, _ = await asyncio.wait(
                {change, disconnect},
                timeout=self._heartbeat_seconds,
                return_when=asyncio.FIRST_COMPLETED,
            )
        finally:
            change.cancel()
        return bool(done)

    async def _watch(self) -> None:
        """Start the sources unless they run."""
        async with self._starting:
            if not self.is_watching:
                self._feed.restart()
                await asyncio.to_thread(self._polled.begin)
                await self._pushing.start()
                self._watcher = asyncio.create_task(self._poll())

    async def _poll(self) -> None:
        """Publish news until nobody has listened for a while, or the server ends."""
        latest = time.monotonic()
        try:
            while not self._is_stopping():
                if self._listeners:
                    latest = time.monotonic()
                elif time.monotonic() - latest > self._linger_seconds:
                    return
                await asyncio.sleep(POLL_SECONDS)
                try:
                    for kind, value in await asyncio.to_thread(lambda: list(self._polled.news())):
                        self._feed.publish(kind, value)
                except Exception:
                    log.exception("the stream goes on without some news")
                    self._feed.publish("gap", {})
        finally:
            await self._pushing.stop()
            self._feed.wake()


def _text(kind: str, data: str, event_id: str | None = None) -> str:
    first = f"id: {event_id}\n" if event_id else ""
    return f"{first}event: {kind}\ndata: {data}\n\n"


async def _send(send: Send, text: str) -> None:
    await send({"type": "http.response.body", "body": text.encode(), "more_body": True})


async def _disconnect(receive: Receive) -> None:
    """Return when the client has gone."""
    while (await receive())["type"] != "http.disconnect":
        pass
