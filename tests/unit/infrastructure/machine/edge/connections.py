"""Have connections of the edge without a network, in an event loop whose time tests set."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import uvicorn
from uvicorn.server import ServerState

from infrastructure.machine.edge.connection import OpenConnections, PublicProtocol

HOST = b"Host: mail.a.test\r\n"

Application = Callable[[Any, Any, Any], Awaitable[None]]


class SetLoop(asyncio.SelectorEventLoop):
    """An event loop that is told the time."""

    now = 0.0

    def time(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        """Let time pass, and run what is due then."""
        self.now += seconds
        self.turn()

    def turn(self) -> None:
        """Run what is due, and what that makes due at once."""
        for _ in range(5):
            self.call_soon(self.stop)
            self.run_forever()


class FakeTransport(asyncio.Transport):
    """Keeps what is written. ``unread`` is how much of it the client has not taken."""

    def __init__(self, address: str = "192.0.2.1", *, tls: bool = False) -> None:
        super().__init__()
        self._address, self._tls = address, tls
        self.output = b""
        self.unread = 0
        self.is_aborted = self.is_closed = self.is_paused = False

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        addresses = {"peername": (self._address, 1), "sockname": ("192.0.2.9", 443)}
        return (object() if self._tls else None) if name == "sslcontext" else addresses.get(name)

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.output += bytes(data)

    def abort(self) -> None:
        self.is_aborted = self.is_closed = True

    def close(self) -> None:
        self.is_closed = True

    def is_closing(self) -> bool:
        return self.is_closed

    def pause_reading(self) -> None:
        self.is_paused = True

    def resume_reading(self) -> None:
        self.is_paused = False

    def get_write_buffer_size(self) -> int:
        return self.unread


async def greet(scope: Any, receive: Any, send: Any) -> None:
    """Read the request and answer it."""
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": scope["raw_path"]})


def connect(
    loop: SetLoop, transport: FakeTransport, application: Application = greet
) -> PublicProtocol:
    """Return the server's side of a new connection, which counts among none but its own."""
    protocol = PublicProtocol(
        config=uvicorn.Config(application, log_config=None, lifespan="off", ws="none"),
        server_state=ServerState(),
        app_state={},
        _loop=loop,
    )
    protocol.open_connections = OpenConnections()
    protocol.connection_made(transport)
    return protocol
