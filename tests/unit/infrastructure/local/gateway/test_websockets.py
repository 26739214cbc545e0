"""A WebSocket may begin at a port that takes them, and at no other."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from wsproto import ConnectionType, WSConnection
from wsproto.events import AcceptConnection, Event, Ping, Pong, Request, TextMessage

from infrastructure.local.gateway.application import FurtherPort, server

OFFER = (
    b"GET /news HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)


async def echo(scope: Any, receive: Any, send: Any) -> None:
    """Return what comes by a WebSocket; answer requests with their type."""
    if scope["type"] == "lifespan":
        while (await receive())["type"] == "lifespan.startup":
            await send({"type": "lifespan.startup.complete"})
        await send({"type": "lifespan.shutdown.complete"})
    elif scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.accept"})
        while (message := await receive())["type"] == "websocket.receive":
            await send({"type": "websocket.send", "text": f"{scope['path']} {message['text']}"})
    else:
        headers = [(b"content-length", b"4")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"http"})


@pytest.fixture(scope="module")
def ports() -> Iterator[list[int]]:
    """The port of everything, and one that takes WebSockets."""
    further = FurtherPort("127.0.0.1", 0, websockets=True)
    running = server(echo, host="127.0.0.1", port=0, further=[further])
    running.config.ws_ping_interval = 0.05
    thread = threading.Thread(target=running.run, daemon=True)
    thread.start()
    deadline = time.monotonic() + 10
    while not running.started or len(running.servers) < 2:
        assert time.monotonic() < deadline, "the server did not start"
        thread.join(0.01)
    yield [each.sockets[0].getsockname()[1] for each in running.servers]
    running.should_exit = True
    thread.join(10)
    assert not thread.is_alive()


def events(client: socket.socket, connection: WSConnection) -> Iterator[Event]:
    while data := client.recv(65536):
        connection.receive_data(data)
        yield from connection.events()


def test_a_websocket_begins_and_is_kept_alive(ports: list[int]) -> None:
    connection = WSConnection(ConnectionType.CLIENT)
    with contextlib.closing(socket.create_connection(("127.0.0.1", ports[1]), 10)) as client:
        client.sendall(connection.send(Request(host="localhost", target="/news")))
        arrivals = events(client, connection)
        assert isinstance(next(arrivals), AcceptConnection)
        ping = next(arrivals)
        assert isinstance(ping, Ping)
        client.sendall(connection.send(Pong(ping.payload)))
        client.sendall(connection.send(TextMessage("hello")))
        text = next(each for each in arrivals if isinstance(each, TextMessage))
        assert text.data == "/news hello"


def test_a_port_without_websockets_answers_the_request_itself(ports: list[int]) -> None:
    with contextlib.closing(socket.create_connection(("127.0.0.1", ports[0]), 10)) as client:
        client.sendall(OFFER)
        received = client.recv(65536)
    assert received.startswith(b"HTTP/1.1 200 ")


def test_a_port_with_websockets_ignores_another_protocol(ports: list[int]) -> None:
    with contextlib.closing(socket.create_connection(("127.0.0.1", ports[1]), 10)) as client:
        client.sendall(OFFER.replace(b"websocket\r\n", b"h2c\r\n"))
        assert client.recv(65536).startswith(b"HTTP/1.1 200 ")
        client.sendall(OFFER)
        assert client.recv(65536).startswith(b"HTTP/1.1 101 ")
