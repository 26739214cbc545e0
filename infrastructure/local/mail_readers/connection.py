"""Move octets between a mail reader and its session: lines, literals, replies and TLS.

Input is bounded: receiving stops while a session does not keep up, and a line or a literal has a
limit. Replies leave when the session waits for input, so pipelined commands cost one packet.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from ssl import SSLContext
from typing import Any

# Octets that may wait unread before the server stops receiving
_READ_AHEAD = 128 * 1024
# Octets of replies that wait for the end of a command
_MOST_OUTPUT = 64 * 1024
_HANDSHAKE_SECONDS = 10.0
_LINGER_SECONDS = 2.0
# A client that reads nothing for so long is gone: what it does not read takes memory
_STALLED_SECONDS = 60.0
# Lines that came together; then other sessions run
_LINES_AT_ONCE = 100
# A browser sends such a line for any web page, whose fields or body may hold commands. Its path may
# be longer than any line that is read; no command begins with a slash after its first word.
_HTTP_REQUEST = re.compile(
    rb"(?:CONNECT|DELETE|GET|HEAD|OPTIONS|PATCH|POST|PRI|PUT|TRACE) (?:/|\S{0,8000} HTTP/)",
    re.IGNORECASE,
)


class ClientGone(Exception):
    """The client has closed the connection, was silent for too long, or is no mail reader."""


class LineTooLong(Exception):
    """The line has more octets than its limit; it is skipped to its end."""


class Connection(asyncio.Protocol):
    """The connection of a session, which `serve` runs until it returns."""

    def __init__(
        self, serve: Callable[[Connection], Awaitable[None]], *, idle_seconds: float
    ) -> None:
        self._serve = serve
        self._idle_seconds = idle_seconds
        self._input = bytearray()
        self._output = bytearray()
        self._arrived = asyncio.Event()
        self._writable = asyncio.Event()
        self._writable.set()
        self._ended = False
        self._transport: Any = None
        self._lines = 0
        self.task: asyncio.Task[None] | None = None
        self.is_secure = False
        #: Whether the client has logged in; one that has not may be cut off for others
        self.is_logged_in = False

    def connection_made(self, transport: Any) -> None:
        """Begin the session, unless the connection only changes to TLS."""
        if self.task is None:
            self._transport = transport
            self.task = asyncio.get_running_loop().create_task(self._run())

    def connection_lost(self, error: Exception | None) -> None:
        """Let the session see the end."""
        self._transport = None
        self._ended = True
        self._arrived.set()
        self._writable.set()

    def data_received(self, data: bytes) -> None:
        """Add octets to the input."""
        self._input += data
        if len(self._input) > _READ_AHEAD:
            self._transport.pause_reading()
        self._arrived.set()

    def eof_received(self) -> bool:
        """Keep the connection open until all input is answered, where TLS does not forbid it."""
        self._ended = True
        self._arrived.set()
        return not self.is_secure

    def pause_writing(self) -> None:
        """Wait with further replies: the client does not read them."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """Go on: the client reads again."""
        self._writable.set()

    @property
    def peer(self) -> str:
        """The client's address, empty if it is gone."""
        peername = self._transport and self._transport.get_extra_info("peername")
        return str(peername[0]).partition("%")[0] if peername else ""

    async def line(self, limit: int) -> bytes:
        """Return the next line without its end, CRLF or LF; raises LineTooLong."""
        self._lines += 1
        if self._lines % _LINES_AT_ONCE == 0:
            await asyncio.sleep(0)
        while (end := self._input.find(b"\n")) < 0:
            if len(self._input) > limit:
                if _HTTP_REQUEST.match(self._input):
                    raise ClientGone
                await self._skip_line()
                raise LineTooLong
            await self._more()
        line = bytes(self._input[:end]).removesuffix(b"\r")
        del self._input[: end + 1]
        if _HTTP_REQUEST.match(line):
            raise ClientGone
        if len(line) > limit:
            raise LineTooLong
        return line

    async def octets(self, number: int) -> bytes:
        """Return the next octets, which the caller has bounded."""
        while len(self._input) < number:
            await self._more()
        octets = bytes(self._input[:number])
        del self._input[:number]
        return octets

    async def skip(self, number: int) -> None:
        """Drop the next octets."""
        while len(self._input) < number:
            number -= len(self._input)
            self._input.clear()
            await self._more()
        del self._input[:number]

    async def has_input(self, seconds: float) -> bool:
        """Wait for input for some time; tell whether there is some. Raises ClientGone."""
        if not self._input:
            try:
                async with asyncio.timeout(seconds):
                    await self._more()
            except TimeoutError:
                pass
        return bool(self._input)

    def write(self, octets: bytes | memoryview) -> None:
        """Add octets to the replies."""
        self._output += octets

    async def send(self, octets: bytes) -> None:
        """Add octets to the replies, and send them in pieces as the client reads them."""
        view = memoryview(octets)
        for start in range(0, len(view), _MOST_OUTPUT):
            self.write(view[start : start + _MOST_OUTPUT])
            await self.flush_much()

    async def flush_much(self) -> None:
        """Send the replies if there are many, and let other sessions run."""
        if len(self._output) >= _MOST_OUTPUT:
            await self.flush()
            await asyncio.sleep(0)

    async def flush(self) -> None:
        """Send the replies; waits for a client that does not read, but not for ever."""
        self._send()
        try:
            async with asyncio.timeout(_STALLED_SECONDS):
                await self._writable.wait()
        except TimeoutError:
            raise ClientGone from None

    async def start_tls(self, context: SSLContext) -> None:
        """Go on under TLS; input that came in the clear after the command is dropped."""
        self._send()
        if self._transport is None:
            raise ClientGone
        self._input.clear()
        self._transport.resume_reading()
        self.is_secure = True
        try:
            self._transport = await asyncio.get_running_loop().start_tls(
                self._transport,
                self,
                context,
                server_side=True,
                ssl_handshake_timeout=_HANDSHAKE_SECONDS,
            )
        except OSError:
            self.abort()
            raise ClientGone from None
        if self._transport is None:
            raise ClientGone

    def abort(self) -> None:
        """Close now."""
        if self._transport is not None:
            self._transport.abort()

    async def _run(self) -> None:
        try:
            await self._serve(self)
            self._send()
        except ClientGone:
            pass
        finally:
            self._close()

    def _close(self) -> None:
        transport, self._transport = self._transport, None
        if transport is not None:
            transport.close()
            asyncio.get_running_loop().call_later(_LINGER_SECONDS, transport.abort)

    def _send(self) -> None:
        if self._output and self._transport is not None:
            self._transport.write(bytes(self._output))
        self._output.clear()

    async def _more(self) -> None:
        """Send the replies and wait for octets."""
        self._arrived.clear()
        await self.flush()
        if self._ended:
            raise ClientGone
        if not self._transport.is_reading():
            self._transport.resume_reading()
        loop = asyncio.get_running_loop()
        timer = loop.call_later(self._idle_seconds, self._give_up)
        try:
            await self._arrived.wait()
        finally:
            timer.cancel()
        if self._ended and not self._input:
            raise ClientGone

    def _give_up(self) -> None:
        self._ended = True
        self._input.clear()
        self._arrived.set()

    async def _skip_line(self) -> None:
        while (end := self._input.find(b"\n")) < 0:
            self._input.clear()
            await self._more()
        del self._input[: end + 1]
