"""Send commands and read replies on an SMTP connection (RFC 5321 2.4, 4.2, 4.5.3).

A reply comes from a stranger. The length of its lines, their number and its time are bounded. The
time covers the whole reply, so that a host cannot hold a connection by sending a byte now and then.

The socket does not block; where it must wait, it is polled. With a time limit of Python's, each
call would make two more system calls. For each of them a thread hands the interpreter to another
one, which may be making messages.
"""

from __future__ import annotations

import re
import select
import socket
import ssl
from contextlib import suppress
from dataclasses import dataclass
from math import ceil
from time import monotonic
from typing import NamedTuple

LONGEST_LINE = 4_096
"""Bytes in one line of a reply; RFC 5321 4.5.3.1.5 allows 512, some hosts send more."""

MOST_LINES = 128
"""Lines in one reply."""

_REPLY_LINE = re.compile(rb"([2-5]\d\d)(?:([- ])(.*))?", re.DOTALL)
_DER = 2  # the ssl module's number of the encoding, which has no public name
_QUICK_ACK = getattr(socket, "TCP_QUICKACK", None)
_BLOCK = 262_144
_RECEIVE = 8_192
_WOULD_BLOCK = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)

Ends = tuple[str, str | None, str, str | None]
"""The remote IP, the TLS version, the local IP, and the policy that authenticated the host."""


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds that each phase may take as a whole, not per byte.

    RFC 5321 4.5.3.2 waits five minutes for most replies. `command` is shorter, because a worker
    waits and the message is tried again anyway. `final` is not: the message is sent twice if the
    client gives up on a host that is about to accept it (RFC 1047).
    """

    connect: float = 30.0
    command: float = 60.0
    data: float = 300.0
    final: float = 300.0
    quit: float = 2.0


class ConnectionLost(Exception):
    """The connection cannot be used any more."""


class ReplyTimeout(ConnectionLost):
    """The remote host took too long to read or to answer."""


class HostReply(NamedTuple):
    """A reply: its code and the text of each line after the code."""

    code: int
    lines: tuple[str, ...]

    @property
    def text(self) -> str:
        """The lines, joined by spaces."""
        return " ".join(self.lines)


class SmtpWire:
    """A connected socket that speaks in commands and replies; every method may block."""

    __slots__ = ("_buffer", "_poll", "_socket", "ip_address", "sending_ip", "tls", "tls_policy")

    def __init__(self, connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.setblocking(False)
        self._socket = connection
        self._poll = select.poll()
        self._buffer = bytearray()
        self.ip_address: str = connection.getpeername()[0]
        self.sending_ip: str = connection.getsockname()[0]
        self.tls: str | None = None
        self.tls_policy: str | None = None

    @property
    def ends(self) -> Ends:
        """Return what an outcome holds of the connection."""
        return self.ip_address, self.tls, self.sending_ip, self.tls_policy

    def send(self, data: bytes | memoryview, seconds: float) -> None:
        """Send all of `data` within that many seconds."""
        deadline = monotonic() + seconds
        view = memoryview(data)
        try:
            while view:
                try:
                    view = view[self._socket.send(view[:_BLOCK]) :]
                except _WOULD_BLOCK as wait:
                    self._wait(wait, deadline, select.POLLOUT)
        except TimeoutError as error:
            raise ReplyTimeout("the remote host stopped reading") from error
        except OSError as error:
            raise ConnectionLost(_text_of(error)) from error

    def send_or_hear(
        self, data: bytes | memoryview, seconds: float, last_seconds: float
    ) -> HostReply | None:
        """Send all of `data`; return why the host hung up meanwhile, if it said so.

        Its last words are read for `last_seconds`. Raises ConnectionLost if it refused nothing.
        """
        try:
            self.send(data, seconds)
        except ConnectionLost as error:
            with suppress(ConnectionLost):
                reply = self.read_reply(last_seconds)
                if reply.code >= 400:
                    return reply
            raise error
        return None

    def read_reply(self, seconds: float) -> HostReply:
        """Return the next reply, which must be complete within that many seconds."""
        deadline = monotonic() + seconds
        lines = []
        for _ in range(MOST_LINES):
            line = _REPLY_LINE.fullmatch(self._read_line(deadline))
            if line is None:
                raise ConnectionLost("the remote host sent something that is no reply")
            code, mark, text = line.groups(b"")
            lines.append(text.decode("utf-8", "replace"))
            if mark != b"-":
                return HostReply(int(code), tuple(lines))
        raise ConnectionLost("the remote host sent a reply without end")

    def has_unread(self) -> bool:
        """Tell whether data, or the end of the connection, waits to be read."""
        if self._buffer:
            return True
        try:
            self._buffer += self._socket.recv(_RECEIVE)
        except _WOULD_BLOCK:
            return False
        except OSError:
            return True
        return True

    def acknowledge_at_once(self) -> None:
        """Acknowledge the next packet without delay, where several replies follow each other.

        A host with Nagle's algorithm holds back its second reply until the first is acknowledged,
        and Linux delays that by 40 ms. The option lasts for one wait.
        """
        if _QUICK_ACK is not None:
            self._socket.setsockopt(socket.IPPROTO_TCP, _QUICK_ACK, 1)

    def start_tls(self, context: ssl.SSLContext, host: str, seconds: float) -> None:
        """Encrypt the connection; data that came in the clear after the go-ahead is an attack."""
        if self._buffer:
            raise ConnectionLost("the remote host spoke in the clear after STARTTLS")
        try:
            self._socket.settimeout(seconds)
            tls_socket = context.wrap_socket(self._socket, server_hostname=host)
            tls_socket.setblocking(False)
        except TimeoutError as error:
            raise ReplyTimeout("the TLS handshake took too long") from error
        except (OSError, ValueError) as error:
            raise ConnectionLost(f"the TLS handshake failed: {_text_of(error)}") from error
        self._socket = tls_socket
        self.tls = tls_socket.version()

    def certificates(self) -> list[bytes]:
        """Return the certificates that the host showed, as DER, its own first."""
        chain = getattr(self._socket, "get_unverified_chain", None)
        if chain:  # from Python 3.13
            return list(chain())
        # The ssl module has had it since 3.10, under this name
        inner = getattr(self._socket, "_sslobj", None)
        chain = inner.get_unverified_chain() if inner else None
        return [each.public_bytes(_DER) for each in chain or ()]

    def close(self) -> None:
        """Close the connection without QUIT."""
        self._socket.close()

    def _read_line(self, deadline: float) -> bytes:
        """Return the next line without its end; a bare LF ends it too."""
        buffer = self._buffer
        while (end := buffer.find(b"\n")) < 0:
            if len(buffer) > LONGEST_LINE:
                break
            buffer += self._receive(deadline)
        if not 0 <= end <= LONGEST_LINE:
            raise ConnectionLost("the remote host sent too long a line")
        line = bytes(buffer[:end])
        del buffer[: end + 1]
        return line.removesuffix(b"\r")

    def _receive(self, deadline: float) -> bytes:
        try:
            data = self._read(deadline)
        except TimeoutError as error:
            raise ReplyTimeout("the remote host did not answer in time") from error
        except OSError as error:
            raise ConnectionLost(_text_of(error)) from error
        if not data:
            raise ConnectionLost("the remote host closed the connection")
        return data

    def _read(self, deadline: float) -> bytes:
        if not isinstance(self._socket, ssl.SSLSocket):  # which may hold decrypted bytes
            self._wait_for(select.POLLIN, deadline)
        while True:
            try:
                return self._socket.recv(_RECEIVE)
            except _WOULD_BLOCK as wait:
                self._wait(wait, deadline, select.POLLIN)

    def _wait(self, wait: Exception, deadline: float, event: int) -> None:
        """Wait for what an operation would block on: its own ``event``, or what TLS needs first."""
        if isinstance(wait, ssl.SSLWantReadError):
            event = select.POLLIN
        elif isinstance(wait, ssl.SSLWantWriteError):
            event = select.POLLOUT
        self._wait_for(event, deadline)

    def _wait_for(self, event: int, deadline: float) -> None:
        """Wait until the socket can be read or written; raises TimeoutError at the deadline."""
        seconds = deadline - monotonic()
        self._poll.register(self._socket, event)
        if seconds <= 0 or not self._poll.poll(ceil(seconds * 1000)):
            raise TimeoutError


def _text_of(error: Exception) -> str:
    """Return an error of the operating system or of TLS in words."""
    return str(getattr(error, "strerror", None) or str(error) or type(error).__name__)
