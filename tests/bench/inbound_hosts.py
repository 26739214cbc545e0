"""Play the hosts around inbound mail: one that sends, and a target that takes what is relayed.

Both share the machine with the service that is measured, so they do as little as possible.
"""

from __future__ import annotations

import asyncio
import re
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import cast

import uvloop

_BATCH_ID = re.compile(rb"\r\nx-svc-batch-id: *([^\r\n]+)", re.IGNORECASE)
_LENGTH = re.compile(rb"\r\ncontent-length: *([0-9]+)", re.IGNORECASE)
_OK = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
#: The replies to MAIL, RCPT and BDAT of one message
_REPLIES = 3
#: Messages of one connection, of which the relay takes 100
_MOST_OF_CONNECTION = 50


class Target:
    """What was posted: how often each batch came, and when the last one did (monotonic)."""

    def __init__(self) -> None:
        self.port = 0
        self.posts: Counter[str] = Counter()
        self.largest = 0
        self.last = 0.0

    @property
    def url(self) -> str:
        """Return the address to which posts are made."""
        return f"http://127.0.0.1:{self.port}/relay"


class _TargetConnection(asyncio.Protocol):
    def __init__(self, target: Target) -> None:
        self._target = target
        self._head = b""
        self._missing = 0
        self._size = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        while data:
            if not self._missing:
                head, end, rest = (self._head + data).partition(b"\r\n\r\n")
                if not end:
                    self._head = head
                    return
                self._head, data = head, rest
                length = _LENGTH.search(head)
                self._missing = self._size = int(length[1]) if length else 0
            length = min(self._missing, len(data))
            self._missing -= length
            data = data[length:]
            if not self._missing:
                self._end()

    def _end(self) -> None:
        batch = _BATCH_ID.search(self._head)
        self._head = b""
        if batch:
            self._target.posts[batch[1].decode()] += 1
            self._target.largest = max(self._target.largest, self._size)
            self._target.last = time.monotonic()
        self._transport.write(_OK)


@contextmanager
def relay_target() -> Iterator[Target]:
    """Serve a target in a thread, within the block."""
    target, ready = Target(), threading.Event()
    stop: list[asyncio.Event] = []

    async def serve() -> None:
        stop.append(asyncio.Event())
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: _TargetConnection(target), "127.0.0.1", 0)
        target.port = server.sockets[0].getsockname()[1]
        stop.append(loop)  # type: ignore[arg-type]
        ready.set()
        await stop[0].wait()
        server.close()

    thread = threading.Thread(target=lambda: uvloop.run(serve()), daemon=True)
    thread.start()
    ready.wait()
    try:
        yield target
    finally:
        stop[1].call_soon_threadsafe(stop[0].set)  # type: ignore[attr-defined]
        thread.join()


def send_all(port: int, recipients: list[str], message: bytes, connections: int) -> set[str]:
    """Send the message to each recipient over some connections; return the ids of the replies."""

    async def send_some(addresses: list[str]) -> list[str]:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        await reader.readline()
        writer.write(b"EHLO bench.test\r\n")
        while (await reader.readline())[3:4] == b"-":
            pass
        ids = []
        for address in addresses:
            writer.write(
                b"MAIL FROM:<ann@sender.test>\r\nRCPT TO:<%b>\r\nBDAT %d LAST\r\n%b"
                % (address.encode(), len(message), message)
            )
            replies = [await reader.readline() for _ in range(_REPLIES)]
            if any(not reply.startswith(b"250 ") for reply in replies):
                raise RuntimeError(f"not accepted: {replies}")
            ids.append(replies[-1].decode().split()[-1])
        writer.write(b"QUIT\r\n")
        writer.close()
        return ids

    parts = [
        recipients[at : at + _MOST_OF_CONNECTION]
        for at in range(0, len(recipients), _MOST_OF_CONNECTION)
    ]
    ids: set[str] = set()

    async def send_parts() -> None:
        while parts:
            ids.update(await send_some(parts.pop()))

    async def send() -> None:
        await asyncio.gather(*(send_parts() for _ in range(connections)))

    uvloop.run(send())
    return ids
