"""One client's connection: octets in, replies out, time limits, TLS, and the end.

It stands on aiosmtpd's SMTP class, which brings the life of the connection (protocol callbacks,
handler task, timer), the session and envelope, and the table of commands. Input, output and the
command loop are replaced, because aiosmtpd ends commands at a bare LF, reads DATA line by line,
writes replies one by one, times DATA as one idle period, and keeps size limits on the class.

Replies gather until the client's input is used up and leave in one write, so that a pipelined burst
(RFC 2920) costs one packet each way.
"""

from __future__ import annotations

import asyncio
import ipaddress
from typing import Any

from aiosmtpd.smtp import SMTP

from relay import replies
from relay.input_buffer import InputBuffer
from relay.replies import Reply
from relay.server_context import ServerContext

# Octets read ahead of the commands that are being worked on.
_READ_AHEAD = 128 * 1024
# How long a client may take to read the last reply before the connection is cut.
_LINGER_SECONDS = 2.0


class HungUp(Exception):
    """The client is gone, or has ended its side and everything it sent is answered."""


class Connection(SMTP):
    """The transport side of a session."""

    transport: Any

    def __init__(self, context: ServerContext, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(
            None,
            loop=loop,
            hostname=context.config.hostname,
            timeout=context.config.idle_seconds,
        )
        self.context = context
        self.config = context.config
        self.input = InputBuffer()
        self.peer_ip = ""
        self.admitted = False
        self.tls_active = False
        self.shaking_hands = False
        self.closing = False
        self._output: list[bytes] = []
        self._arrived = asyncio.Event()
        self._writable = asyncio.Event()
        self._writable.set()
        self._ended = False

    # What the event loop calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Count the client in and begin to talk to it."""
        self.peer_ip = _address_of(transport.get_extra_info("peername"))
        self.context.counters.connections += 1
        self.admitted = self.context.connections.admit(self)
        super().connection_made(transport)

    def connection_lost(self, error: Exception | None) -> None:
        """Count the client out; ends the handler task."""
        self.closing = True
        self.context.connections.remove(self)
        super().connection_lost(error)

    def data_received(self, data: bytes) -> None:
        """Keep what arrives, and stop reading when the session does not keep up."""
        self.input.feed(data)
        if len(self.input) > _READ_AHEAD:
            self.transport.pause_reading()
        self._arrived.set()

    def eof_received(self) -> bool:
        """Let what arrived before the end be answered, where the transport can (not under TLS)."""
        self._ended = True
        self._arrived.set()
        return not self.tls_active

    def pause_writing(self) -> None:
        """The client does not read its replies."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """The client reads again."""
        self._writable.set()

    # Replies and the end.

    def reply(self, reply: Reply) -> None:
        """Answer; leaves with the other replies of the burst."""
        self.reply_octets(reply.encode())

    def reply_octets(self, octets: bytes) -> None:
        """Answer with finished octets."""
        self._output.append(octets)

    async def send_replies(self) -> None:
        """Send what was answered so far; waits for a client that does not read."""
        self._flush()
        await self._writable.wait()

    def part(self, reply: Reply) -> None:
        """Say a last word and close."""
        self.reply(reply)
        self.hang_up()

    def hang_up(self) -> None:
        """Close once the client has read what was written, or soon in any case."""
        if self.transport is None or self.closing:
            return
        self._flush()
        self.closing = True
        self.transport.close()
        self.loop.call_later(_LINGER_SECONDS, self.transport.abort)

    def abort(self) -> None:
        """Close now, whatever is under way."""
        self.closing = True
        if self.transport is not None:
            self.transport.abort()

    # Input.

    async def next_line(self, *, of_login: bool = False) -> bytes:
        """The next line, without CRLF; raises Refusal for one that is not acceptable.

        The idle time runs for the whole line: octets that do not end it are no activity.
        """
        self._reset_timeout()
        while True:
            long = of_login or self.input.begins_with(b"AUTH ")
            limit = self.config.max_auth_line if long else self.config.max_command_line
            if (line := self.input.line(limit)) is not None:
                return line
            await self._more()

    async def next_octets(self) -> bytes:
        """At least one octet; the idle time runs until it comes."""
        self._reset_timeout()
        while not len(self.input):
            await self._more()
        return self.input.take()

    async def _more(self) -> None:
        """Send the replies and wait for octets."""
        await self.send_replies()
        if self._ended:
            raise HungUp
        if not self.transport.is_reading():
            self.transport.resume_reading()
        await self._arrived.wait()
        self._arrived.clear()

    def _flush(self) -> None:
        if self._output and not self.closing:
            self.transport.write(b"".join(self._output))
        self._output.clear()

    # Time.

    def stop_idle_time(self) -> None:
        """The client waits for this side; the time starts anew with the next wait for input."""
        self._timeout_handle.cancel()

    def _timeout_cb(self) -> None:
        if not self.closing:
            self.part(replies.IDLE)

    # TLS.

    async def start_tls(self) -> None:
        """Shake hands and go on under TLS; raises HungUp when that fails.

        Nothing the client sent in the clear after STARTTLS survives: between clearing and the
        change of protocol nothing else runs (RFC 3207 4.2, command injection).
        """
        assert self.context.tls is not None
        self.stop_idle_time()
        self._flush()
        self.input.clear()
        self._original_transport = self.transport
        self.tls_active = self.shaking_hands = True
        try:
            self.transport = await self.loop.start_tls(
                self._original_transport,
                self,
                self.context.tls.current(),
                server_side=True,
                ssl_handshake_timeout=self.config.idle_seconds,
            )
        except OSError:
            self.transport = None
        finally:
            self.shaking_hands = False
        if self.transport is None:
            # Until hands are shaken, the loop tells a loss to the TLS layer only.
            self.context.connections.remove(self)
            raise HungUp


def _address_of(peername: tuple[Any, ...] | None) -> str:
    """The client's address, IPv4 also for an IPv4 client of an IPv6 socket; empty when gone."""
    if peername is None:
        return ""
    address = ipaddress.ip_address(str(peername[0]).partition("%")[0])
    mapped = getattr(address, "ipv4_mapped", None)
    return str(mapped or address)
