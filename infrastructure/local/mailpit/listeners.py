"""Send news to the listeners of Mailpit's WebSocket, each of which has a queue with bounds."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from infrastructure.local.gateway.request_body import Receive, Scope, Send

PATH = "/api/events"
MOST_LISTENERS = 100
#: A listener that is so far behind is cut off, and connects anew
MOST_WAITING = 256

_TRY_AGAIN_LATER = 1013
_GOING_AWAY = 1001


class Listeners:
    """The listeners; ``publish`` may be called from any thread, the rest on the event loop.

    ``begin`` is called when there is a first listener, and again for each further one.
    """

    def __init__(self, begin: Callable[[], None] = lambda: None) -> None:
        self.begin = begin
        self._queues: set[asyncio.Queue[str | None]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def number(self) -> int:
        """The number of listeners."""
        return len(self._queues)

    def publish(self, kind: str, data: Any) -> None:
        """Tell all listeners."""
        loop = self._loop
        if loop is None or not self._queues:
            return
        text = json.dumps({"Type": kind, "Data": data})
        # The loop may have ended, and with it all listeners
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(self._put, text)

    def close(self) -> None:
        """Send all listeners away."""
        for queue in list(self._queues):
            self._end(queue)

    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one WebSocket until its client, or the server, ends it."""
        if (await receive())["type"] != "websocket.connect":
            return
        await send({"type": "websocket.accept"})
        if len(self._queues) >= MOST_LISTENERS:
            await send({"type": "websocket.close", "code": _TRY_AGAIN_LATER})
            return
        self._loop = asyncio.get_running_loop()
        queue: asyncio.Queue[str | None] = asyncio.Queue()
        self._queues.add(queue)
        self.begin()
        reader = asyncio.create_task(self._read(receive, queue))
        try:
            while (text := await queue.get()) is not None:
                await send({"type": "websocket.send", "text": text})
            if not reader.done():
                await send({"type": "websocket.close", "code": _GOING_AWAY})
        except OSError:
            # The client has gone
            pass
        finally:
            self._queues.discard(queue)
            reader.cancel()

    async def _read(self, receive: Receive, queue: asyncio.Queue[str | None]) -> None:
        """Leave what a client says, until it goes."""
        while (await receive())["type"] != "websocket.disconnect":
            pass
        self._end(queue)

    def _put(self, text: str) -> None:
        for queue in list(self._queues):
            if queue.qsize() >= MOST_WAITING:
                self._end(queue)
            else:
                queue.put_nowait(text)

    def _end(self, queue: asyncio.Queue[str | None]) -> None:
        self._queues.discard(queue)
        queue.put_nowait(None)
