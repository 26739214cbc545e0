"""Receive mail as fast as one process can, and remember when which domain got a message.

A separate process, so that it does not slow the senders of a benchmark more than a host would.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection as Pipe
from typing import cast

import uvloop

_RECIPIENT = re.compile(rb"RCPT TO:<[^@>]*@([^>]+)>", re.IGNORECASE)
_REPLIES = {
    b"EHLO": b"250-host\r\n250-PIPELINING\r\n250 8BITMIME\r\n",
    b"DATA": b"354 go\r\n",
    b"QUIT": b"221 bye\r\n",
}

Arrivals = list[tuple[float, str]]
"""The time (``time.time``) and the recipient's domain of each message, in order."""


class _Session(asyncio.Protocol):
    def __init__(self, arrivals: Arrivals) -> None:
        self._arrivals = arrivals
        self._in_content = False
        self._tail = b""
        self._domain = ""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.write(b"220 host\r\n")

    def data_received(self, data: bytes) -> None:
        replies = b""
        while data:
            if self._in_content:
                tail, data = self._tail + data, b""
                self._tail = tail[-4:]
                if tail.endswith(b"\r\n.\r\n"):
                    self._in_content, self._tail = False, b""
                    self._arrivals.append((time.time(), self._domain))
                    replies += b"250 taken\r\n"
                continue
            line, _, data = data.partition(b"\r\n")
            verb = line[:4].upper()
            if match := _RECIPIENT.match(line):
                self._domain = match[1].decode().lower()
            replies += _REPLIES.get(verb, b"250 ok\r\n")
            self._in_content = verb == b"DATA"
        self._transport.write(replies)


class ReceivingHost:
    """The process, and the port that it listens on at 127.0.0.1."""

    def __init__(self, pipe: Pipe) -> None:
        self._pipe = pipe
        self.port: int = pipe.recv()

    def arrivals(self) -> Arrivals:
        """Return what has arrived since the last call."""
        self._pipe.send("arrivals")
        return cast(Arrivals, self._pipe.recv())


@contextmanager
def receiving_host() -> Iterator[ReceivingHost]:
    """Receive mail while the block runs."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(
        target=_serve, args=(theirs,), daemon=True
    )
    process.start()
    try:
        yield ReceivingHost(ours)
    finally:
        process.terminate()
        process.join()


def _serve(pipe: Pipe) -> None:
    async def main() -> None:
        arrivals: Arrivals = []
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: _Session(arrivals), "127.0.0.1", 0, backlog=500)

        def answer() -> None:
            pipe.recv()
            pipe.send(arrivals[:])
            arrivals.clear()

        loop.add_reader(pipe.fileno(), answer)
        pipe.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    uvloop.run(main())
