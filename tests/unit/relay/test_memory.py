"""A connection that has ended leaves nothing in memory for Python's garbage collector."""

from __future__ import annotations

import gc
import socket
import ssl
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest

from relay import connection
from tests.unit.infrastructure.clouds import eventually
from tests.unit.relay.conftest import RunningRelay

CONNECTIONS = 40
# What a connection has of its own: the session with its buffers, and the TLS layer with others
KINDS = {"RelaySession", "Envelope", "Session", "InputBuffer", "StreamReader", "SSLProtocol"}


@pytest.fixture(autouse=True)
def without_collections() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def replies(client: socket.socket, end: bytes) -> None:
    """Read until a line begins with ``end``."""
    received = b""
    while b"\n" + end not in b"\n" + received:
        received += client.recv(1000) or pytest.fail("the relay closed the connection")


def read_to_end(client: socket.socket) -> None:
    with suppress(OSError):
        while client.recv(1000):
            pass


def quits(client: socket.socket, _: ssl.SSLContext) -> None:
    client.sendall(b"QUIT\r\n")
    read_to_end(client)


def hangs_up(client: socket.socket, _: ssl.SSLContext) -> None:
    client.sendall(b"EHLO me\r\n")


def encrypts(client: socket.socket, trust: ssl.SSLContext) -> None:
    client.sendall(b"STARTTLS\r\n")
    replies(client, b"220 ")
    with trust.wrap_socket(client, server_hostname="relay.test") as encrypted:
        encrypted.sendall(b"EHLO me\r\nQUIT\r\n")
        read_to_end(encrypted)


def encrypts_and_hangs_up(client: socket.socket, trust: ssl.SSLContext) -> None:
    client.sendall(b"STARTTLS\r\n")
    replies(client, b"220 ")
    trust.wrap_socket(client, server_hostname="relay.test").close()


def spoils_the_handshake(client: socket.socket, _: ssl.SSLContext) -> None:
    client.sendall(b"STARTTLS\r\n")
    replies(client, b"220 ")
    client.sendall(b"GET / HTTP/1.0\r\n\r\n")
    read_to_end(client)


def hangs_up_in_the_handshake(client: socket.socket, _: ssl.SSLContext) -> None:
    client.sendall(b"STARTTLS\r\n")
    replies(client, b"220 ")


@pytest.mark.parametrize(
    "converse",
    [
        quits,
        hangs_up,
        encrypts,
        encrypts_and_hangs_up,
        spoils_the_handshake,
        hangs_up_in_the_handshake,
    ],
)
def test_a_connection_that_has_ended_is_forgotten(
    relay: RunningRelay,
    trust: ssl.SSLContext,
    converse: Callable[[socket.socket, ssl.SSLContext], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connection, "_LINGER_SECONDS", 60.0)
    before = living().total()
    for _ in range(CONNECTIONS):
        with socket.create_connection(("127.0.0.1", relay.port)) as client:
            replies(client, b"220 ")
            converse(client, trust)
    eventually(lambda: relay.server.connections_open == 0)
    eventually(lambda: living().total() < before + CONNECTIONS / 4)


def living() -> Counter[str]:
    """Return how many objects of connections are in memory."""
    kinds = (type(each).__name__ for each in gc.get_objects())
    return Counter(kind for kind in kinds if kind in KINDS)
