"""Stand for the internet around a machine: a DNS, and the host to which all mail goes."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import Message

from aiosmtpd.controller import Controller
from aiosmtpd.handlers import Message as MessageHandler

from infrastructure.local.dns.resolver import Records
from infrastructure.local.dns.server import DnsServer
from tests.free_ports import free_port

MAIL_HOST = "mx.outside.example"
_LOOPBACK = "127.0.0.1"


class Zone:
    """Every name has its mail at the one host, which has the address, and what a test published."""

    def __init__(self, address: str = _LOOPBACK) -> None:
        self.published: dict[str, list[tuple[str, str]]] = {}
        self.address = address

    def lookup(self, name: str) -> Records | None:
        """Return the records of a name."""
        name = name.rstrip(".").lower()
        return [("A", self.address), ("MX", f"10 {MAIL_HOST}"), *self.published.get(name, [])]


@dataclass
class Outside:
    """The messages that arrived by recipient, and where DNS and mail host listen."""

    zone: Zone = field(default_factory=Zone)
    dns_port: int = 0
    mail_port: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _messages: dict[str, list[Message]] = field(default_factory=dict)

    def add(self, recipients: list[str], message: Message) -> None:
        """Keep a message for each of its recipients."""
        with self._lock:
            for recipient in recipients:
                self._messages.setdefault(recipient, []).append(message)

    def messages(self, recipient: str) -> list[Message]:
        """Return what arrived for a recipient."""
        with self._lock:
            return list(self._messages.get(recipient, []))

    def counts(self) -> Counter[str]:
        """Return how many messages each recipient got."""
        with self._lock:
            return Counter({name: len(each) for name, each in self._messages.items()})

    def environment(self) -> dict[str, str]:
        """Return the settings with which a machine sends to this host."""
        return {
            "DNS_SERVERS": f"{self.zone.address}:{self.dns_port}",
            "MX_PORT": str(self.mail_port),
            "ALLOW_PRIVATE_ADDRESSES": "true",
        }


class _Handler(MessageHandler):
    def __init__(self, outside: Outside) -> None:
        super().__init__()
        self._outside = outside

    def handle_message(self, message: Message) -> None:
        recipients = str(message["X-RcptTo"]).split(", ")
        self._outside.add(recipients, message)


@contextmanager
def outside(address: str = _LOOPBACK, dns_port: int = 0) -> Iterator[Outside]:
    """Have DNS and mail host at an address of this machine while the block runs."""
    place = Outside(Zone(address), mail_port=free_port())
    dns_server = DnsServer(address, dns_port, place.zone)
    dns_server.start()
    place.dns_port = dns_server.port
    host = Controller(_Handler(place), hostname=address, port=place.mail_port)
    host.start()
    try:
        yield place
    finally:
        host.stop()
        dns_server.stop()
