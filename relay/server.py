"""A listening relay: binds its ports, bounds its connections, and drains when it is told to stop.

`serve` runs one or more relays until SIGTERM or SIGINT. Then no new connection is taken, a client
between messages gets 421, and a message under way may finish for `drain_seconds`.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import signal
import socket
from concurrent.futures import ThreadPoolExecutor

from relay.config import RelayConfig
from relay.counters import Counters
from relay.lobby import Lobby
from relay.services import Service
from relay.session import RelaySession
from relay.shared import Shared
from relay.tls import TlsContexts

logger = logging.getLogger("relay")

_BACKLOG = 512
# Between two looks at whether the last client has gone.
_DRAIN_LOOK_SECONDS = 0.02


class RelayServer:
    """One relay in the running event loop."""

    def __init__(self, config: RelayConfig, service: Service, tls: TlsContexts | None) -> None:
        """Raises ValueError when logins need TLS and there is none."""
        if tls is None and config.require_tls and service.takes_logins:
            raise ValueError("require_tls needs a certificate")
        self.counters = Counters()
        self.ports: tuple[int, ...] = ()
        self._config = config
        self._shared = Shared(
            config=config,
            service=service,
            tls=tls,
            lobby=Lobby(config.max_connections, config.max_connections_per_address),
            counters=self.counters,
            workers=ThreadPoolExecutor(config.workers, thread_name_prefix="relay"),
        )
        self._listeners: list[asyncio.Server] = []
        self._recorder: asyncio.Task[None] | None = None

    @property
    def connections_open(self) -> int:
        """Clients connected now."""
        return len(self._shared.lobby)

    async def start(self) -> None:
        """Bind every port, or none and raise OSError; `ports` then has the real numbers."""
        loop = asyncio.get_running_loop()
        with contextlib.ExitStack() as unbind:
            sockets = []
            for port in self._config.ports:
                sockets.append(unbind.enter_context(_bound(self._config, port)))
            unbind.pop_all()
        self.ports = tuple(bound.getsockname()[1] for bound in sockets)
        factory = functools.partial(RelaySession, self._shared, loop)
        for bound in sockets:
            self._listeners.append(await loop.create_server(factory, sock=bound, backlog=_BACKLOG))
        self._recorder = loop.create_task(self._record())
        logger.info("relay listening", extra={"ports": list(self.ports)})

    async def drain(self) -> None:
        """Stop listening, let messages under way finish, then end every connection."""
        loop = asyncio.get_running_loop()
        for listener in self._listeners:
            listener.close()
        self._shared.lobby.finish()
        deadline = loop.time() + self._config.drain_seconds
        while len(self._shared.lobby) and loop.time() < deadline:
            await asyncio.sleep(_DRAIN_LOOK_SECONDS)
        self._shared.lobby.abort()
        if self._recorder is not None:
            self._recorder.cancel()
        # A call that has begun is let finish: what it stores must not be half stored.
        await loop.run_in_executor(None, self._shared.workers.shutdown)
        self.counters.write(self.ports, self.connections_open)

    async def _record(self) -> None:
        while True:
            await asyncio.sleep(self._config.counters_seconds)
            self.counters.write(self.ports, self.connections_open)


async def serve(*relays: RelayServer) -> None:
    """Run the relays until SIGTERM or SIGINT, then drain them all at once."""
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    try:
        for relay in relays:
            await relay.start()
        await stop.wait()
    finally:
        await asyncio.gather(*(relay.drain() for relay in relays))


def _bound(config: RelayConfig, port: int) -> socket.socket:
    """A bound socket. Without the protocol number asyncio leaves Nagle's algorithm on."""
    family = socket.AF_INET6 if ":" in config.host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if config.reuse_port:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        bound.bind((config.host, port))
    except OSError:
        bound.close()
        raise
    bound.setblocking(False)
    return bound
