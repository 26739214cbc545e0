"""Fake the services behind a relay, and speak raw SMTP to it."""

from __future__ import annotations

import asyncio
import select
import socket
import ssl
import threading
from base64 import b64encode
from collections.abc import Callable, Iterable
from dataclasses import replace
from logging import LogRecord
from typing import Any

from chalicelib.inbound_domains.model import InboundDomain
from relay import replies
from relay.backend import Identity, SubmittedEnvelope
from relay.errors import LoginRefused, SmtpRefusal
from relay.replies import Reply

# Longer than anything takes on a busy machine: only what never happens fails
TIMEOUT = 120.0
PASSWORD = "key-1"


class FakeStore:
    """Authenticator and acceptor in memory; the hooks let a test refuse, block or fail."""

    def __init__(self) -> None:
        self.logins: list[tuple[str, int | None, str]] = []
        self.messages: list[tuple[Identity | None, SubmittedEnvelope]] = []
        self.threads: set[int] = set()
        self.on_accept: Callable[[SubmittedEnvelope], None] = lambda envelope: None

    def authenticate(self, password: str, subaccount: int | None, peer_ip: str) -> Identity:
        self.logins.append((password, subaccount, peer_ip))
        self.threads.add(threading.get_ident())
        if password != PASSWORD:
            raise LoginRefused
        return Identity(1, subaccount, "k1")

    def accept(self, identity: Identity, envelope: SubmittedEnvelope) -> str:
        self.on_accept(envelope)
        self.messages.append((identity, envelope))
        return f"id-{len(self.messages)}"

    @property
    def envelopes(self) -> list[SubmittedEnvelope]:
        return [envelope for _, envelope in self.messages]


INBOUND = InboundDomain("inbound.test", 1, 0)


class FakeInboundStore:
    """Inbound acceptor in memory that wants one address, and all of one inbound domain."""

    def __init__(self) -> None:
        self.envelopes: list[SubmittedEnvelope] = []
        self.rejections: list[tuple[tuple[str, ...], Reply]] = []
        self.on_accept: Callable[[SubmittedEnvelope], None] = lambda envelope: None

    def place_of(self, recipient: str) -> InboundDomain | None:
        if recipient == "report@bounce.test":
            return None
        if recipient.endswith(f"@{INBOUND.domain}"):
            return INBOUND
        raise SmtpRefusal(replies.RELAYING_DENIED)

    def begun(self, envelope: SubmittedEnvelope) -> SubmittedEnvelope:
        return replace(envelope, id="in", trace=b"Received: here\r\n")

    def accept(self, envelope: SubmittedEnvelope) -> str:
        self.on_accept(envelope)
        self.envelopes.append(replace(envelope, data=envelope.data[:]))
        return f"in-{len(self.envelopes)}"

    def rejected(self, envelope: SubmittedEnvelope, reply: Reply) -> None:
        self.rejections.append((envelope.recipients, reply))

    @property
    def messages(self) -> list[bytes]:
        """The messages as they came, without the trace."""
        return [each.data[len(each.trace) :] for each in self.envelopes]


class Waits:
    """The seconds that clients were to wait; a test that closes the gate decides when to go on."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self._gate: asyncio.Event | None = None
        self._reached = threading.Event()

    async def sleep(self, seconds: float) -> None:
        self.seconds.append(seconds)
        self._reached.set()
        if self._gate is not None:
            await self._gate.wait()

    def close_gate(self) -> None:
        self._gate = asyncio.Event()

    async def open_gate(self) -> None:
        assert self._gate is not None
        self._gate.set()

    def until_reached(self) -> None:
        """Return when a client waits."""
        assert self._reached.wait(TIMEOUT)


class Wire:
    """A client that says octets and reads replies; nothing is corrected."""

    def __init__(self, port: int, *, greet: bool = True) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), TIMEOUT)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._received = b""
        if greet:
            self.greeting = self.reply()

    def say(self, octets: bytes) -> None:
        self.socket.sendall(octets)

    def ask(self, octets: bytes) -> str:
        self.say(octets)
        return self.reply()

    def reply(self) -> str:
        """Return one whole reply, its lines joined by newlines; empty when the connection ends."""
        lines: list[str] = []
        while not lines or lines[-1][3:4] == "-":
            while b"\r\n" not in self._received:
                octets = self._receive()
                if not octets:
                    return ""
                self._received += octets
            line, _, self._received = self._received.partition(b"\r\n")
            lines.append(line.decode())
        return "\n".join(lines)

    def replies(self, count: int) -> list[str]:
        return [self.reply() for _ in range(count)]

    def codes(self, count: int) -> list[int]:
        return [int(reply[:3]) for reply in self.replies(count)]

    def is_quiet(self, seconds: float) -> bool:
        """Tell whether nothing comes for this many seconds."""
        return not self._received and not select.select([self.socket], [], [], seconds)[0]

    def start_tls(self, trust: ssl.SSLContext) -> None:
        self.socket = trust.wrap_socket(self.socket, server_hostname="localhost")

    def log_in(self, password: str = PASSWORD) -> str:
        self.ask(b"EHLO client.test\r\n")
        return self.ask(b"AUTH PLAIN " + plain("SMTP_Injection", password) + b"\r\n")

    def begin_data(self) -> str:
        """Send the commands up to DATA, and read its reply."""
        self.say(b"MAIL FROM:<a@example.test>\r\nRCPT TO:<b@example.test>\r\nDATA\r\n")
        return self.replies(3)[-1]

    def close(self) -> None:
        self.socket.close()

    def _receive(self) -> bytes:
        try:
            return self.socket.recv(65536)
        except ConnectionError:
            return b""


def fields_of(records: Iterable[LogRecord], message: str) -> dict[str, Any]:
    """Return the fields of the first log record with this message."""
    return next(vars(each) for each in records if each.getMessage() == message)


def plain(username: str, password: str) -> bytes:
    return b64encode(f"\0{username}\0{password}".encode())
