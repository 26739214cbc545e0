"""Move octets between a client and its session: input, replies, time limits, TLS and the end.

The base is aiosmtpd's SMTP class. It provides the life cycle of the connection (protocol callbacks,
handler task, timer), the session and envelope, and the table of commands. Input, output and the
command loop are our own, because aiosmtpd ends commands at a bare LF, reads DATA line by line,
writes replies one by one, times DATA as one idle period, and keeps size limits on the class.

Replies are collected until the client's input is used up, and leave in one write, so that a
pipelined burst (RFC 2920) costs one packet each way.
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

# Octets that may wait unread before the server stops receiving.
_READ_AHEAD = 128 * 1024
# How long a client may take to read the last reply before the connection is cut.
_LINGER_SECONDS = 2.0


class ClientGone(Exception):
    """The client has closed the connection, and everything that it sent is answered."""


class Connection(SMTP):
    """The connection of a session."""

    transport: Any = None

    def __init__(self, context: ServerContext, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(
            None,
            loop=loop,
            hostname=context.config.hostname,
            timeout=context.config.idle_seconds,
        )
        self.context = context
        self.config = context.config
        self.input = InputBuffer(bare_ends=context.config.lenient)
        self.peer_ip = ""
        self.refusal: Reply | None = None
        self.tls_active = False
        self.in_handshake = False
        self.closing = False
        self._output: list[bytes] = []
        self._arrived = asyncio.Event()
        self._writable = asyncio.Event()
        self._writable.set()
        self._ended = False
        self._linger: asyncio.TimerHandle | None = None

    # What the event loop calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Count the client in and greet it."""
        is_upgrade = self.tls_active
        self.tls_active = is_upgrade or self.config.implicit_tls
        self.peer_ip = _address_of(transport.get_extra_info("peername"))
        self.context.counters.connections += 1
        self.refusal = self._refusal()
        super().connection_made(transport)
        if not is_upgrade:
            self._handler_coroutine.add_done_callback(self._release)

    def _refusal(self) -> Reply | None:
        """Count the client in, or return the reply that sends it away."""
        admits_peer = self.config.admits_peer
        if admits_peer is not None and not (self.peer_ip and admits_peer(self.peer_ip)):
            return replies.NOT_SERVED
        return None if self.context.connections.admit(self) else replies.TOO_MANY_CONNECTIONS

    def connection_lost(self, error: Exception | None) -> None:
        """Count the client out; ends the handler task."""
        self.closing = True
        self.context.connections.remove(self)
        if self._linger is not None:
            self._linger.cancel()  # it would keep the TLS layer with its buffers
        handler = self._handler_coroutine
        # Nobody waits for what the base would keep: an error would be logged as one that was missed
        super().connection_lost(None)
        if handler.done():
            self._release(handler)

    def _release(self, handler: asyncio.Task[None]) -> None:
        """Forget everything once the client is gone and the handler has ended.

        A session and what it refers to refer to each other in circles. Python would find those only
        after some thousand connections, and each takes 100 KB until then.
        """
        if self.transport is None:
            self.__dict__.clear()

    def data_received(self, data: bytes) -> None:
        """Add octets to the input, and stop receiving when the session does not keep up."""
        self.input.feed(data)
        if len(self.input) > _READ_AHEAD:
            self.transport.pause_reading()
        self._arrived.set()

    def eof_received(self) -> bool:
        """Keep the connection open until all input is answered, where TLS does not forbid it."""
        self._ended = True
        self._arrived.set()
        return not self.tls_active

    def pause_writing(self) -> None:
        """Wait with further replies: the client does not read them."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """Go on: the client reads again."""
        self._writable.set()

    # Replies and the end.

    def reply(self, reply: Reply) -> None:
        """Add a reply to those of the burst."""
        self.reply_octets(reply.encode())

    def reply_octets(self, octets: bytes) -> None:
        """Add a reply that is encoded already."""
        self._output.append(octets)

    async def send_replies(self) -> None:
        """Send the replies so far; waits for a client that does not read."""
        self._flush()
        await self._writable.wait()

    def close_with(self, reply: Reply) -> None:
        """Send a last reply and close the connection."""
        self.reply(reply)
        self.hang_up()

    def hang_up(self) -> None:
        """Close when the client has read its replies, or after some seconds in any case."""
        if self.transport is None or self.closing:
            return
        self._flush()
        self.closing = True
        self.transport.close()
        self._linger = self.loop.call_later(_LINGER_SECONDS, self.transport.abort)

    def abort(self) -> None:
        """Close now, whatever is under way."""
        self.closing = True
        if self.transport is not None:
            self.transport.abort()

    # Input.

    async def next_line(self, *, of_login: bool = False) -> bytes:
        """Return the next line, without CRLF; raises Refusal for an unacceptable line.

        The idle time runs until the line ends: octets that do not end it are no activity.
        """
        self._reset_timeout()
        while True:
            long = of_login or self.input.begins_with(b"AUTH ")
            limit = self.config.max_auth_line if long else self.config.max_command_line
            if (line := self.input.line(limit)) is not None:
                return line
            await self._read_more()

    async def next_octets(self) -> bytes:
        """Return at least one octet; the idle time runs until it comes."""
        self._reset_timeout()
        while not len(self.input):
            await self._read_more()
        return self.input.take()

    async def _read_more(self) -> None:
        """Send the replies and wait for octets."""
        await self.send_replies()
        if self._ended:
            raise ClientGone
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
        """Stop the idle timer while the client waits for us; the next wait for input starts it."""
        self._timeout_handle.cancel()

    def _timeout_cb(self) -> None:
        if not self.closing:
            self.close_with(replies.IDLE)

    # TLS.

    async def start_tls(self) -> None:
        """Go on under TLS; raises ClientGone if the handshake fails.

        Input that the client sent in the clear after STARTTLS is dropped. Nothing else runs between
        this and the change of protocol (RFC 3207 4.2, command injection).
        """
        assert self.context.tls is not None
        self.stop_idle_time()
        self._flush()
        self.input.clear()
        self._original_transport = self.transport
        self.tls_active = self.in_handshake = True
        try:
            self.transport = await self.loop.start_tls(
                self._original_transport,
                self,
                self.context.tls.current(),
                server_side=True,
                ssl_handshake_timeout=self.config.idle_seconds,
            )
        except OSError as error:
            # The exception, its traceback and the TLS layer with its buffers refer to each other
            error.__traceback__ = None
            self.transport = None
        finally:
            self.in_handshake = False
        if self.transport is None:
            # During the handshake the event loop reports a lost connection to the TLS layer only.
            self.context.connections.remove(self)
            raise ClientGone


def _address_of(peername: tuple[Any, ...] | None) -> str:
    """Return the client's address, IPv4 also on an IPv6 socket; empty if the client is gone."""
    if peername is None:
        return ""
    address = ipaddress.ip_address(str(peername[0]).partition("%")[0])
    mapped = getattr(address, "ipv4_mapped", None)
    return str(mapped or address)
