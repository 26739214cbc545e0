"""Listen on the relay's ports, limit its connections, and drain them at the end.

`serve` runs one or more relays until a signal stops it. Then the relays accept no new connection. A
client between messages gets 421. A message under way has `drain_seconds` to finish, after which its
client gets 421 as well. A message that is being stored always gets its reply.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import os
import signal
import socket
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from relay.arriving import ArrivingOctets
from relay.config import RelayConfig
from relay.counters import Counters
from relay.failed_logins import FailedLogins
from relay.open_connections import OpenConnections
from relay.server_context import ServerContext
from relay.services import Service
from relay.session import RelaySession
from relay.shared_figures import FigureWriter
from relay.tls import TlsContexts
from relay.traffic import Traffic

logger = logging.getLogger("relay")

_BACKLOG = 512
# Between two checks whether the last client has gone.
_DRAIN_LOOK_SECONDS = 0.02
# Between two writes of the figures that Prometheus reads, which it does about every 15 seconds.
_SHARE_SECONDS = 1.0
# For clients to read their last replies.
_GOODBYE_SECONDS = 0.5


class RelayServer:
    """One relay in the running event loop."""

    def __init__(
        self,
        config: RelayConfig,
        service: Service,
        tls: TlsContexts | None,
        failed_logins: FailedLogins | None = None,
        figures: FigureWriter | None = None,
        traffic: Traffic | None = None,
        listeners: Sequence[socket.socket] = (),
    ) -> None:
        """Raise ValueError if logins need TLS and there is no certificate.

        `failed_logins` and `traffic` are the counts that this relay shares with others. Its own
        figures are written to `figures`. `listeners` are sockets to use instead of binding ports.
        """
        needs_tls = config.implicit_tls or (config.require_tls and service.takes_logins)
        if tls is None and needs_tls:
            raise ValueError("implicit_tls and require_tls need a certificate")
        self.counters = Counters()
        self.ports: tuple[int, ...] = ()
        self._config = config
        self._context = ServerContext(
            config=config,
            service=service,
            tls=tls,
            connections=OpenConnections(config.max_connections, config.max_connections_per_address),
            counters=self.counters,
            failed_logins=failed_logins or FailedLogins(),
            traffic=traffic or Traffic(),
            arriving=ArrivingOctets(config.max_arriving, config.max_network_arriving),
            workers=ThreadPoolExecutor(config.workers, thread_name_prefix="relay"),
        )
        self._listeners: list[asyncio.Server] = []
        self._figures = figures
        self._sockets = list(listeners)
        self._recorders: list[asyncio.Task[None]] = []

    @property
    def connections_open(self) -> int:
        """Return how many clients are connected."""
        return len(self._context.connections)

    async def start(self) -> None:
        """Bind all ports, or none and raise OSError; `ports` then holds the real numbers."""
        loop = asyncio.get_running_loop()
        sockets = self._sockets or self._bind_ports()
        self.ports = tuple(each.getsockname()[1] for each in sockets)
        factory = functools.partial(RelaySession, self._context, loop)
        for listener in sockets:
            server = await loop.create_server(
                factory, sock=listener, backlog=_BACKLOG, **self._tls_arguments()
            )
            self._listeners.append(server)
        self._recorders.append(loop.create_task(self._record()))
        if self._figures is not None:
            self._recorders.append(loop.create_task(self._share(self._figures)))
        fields = {"ports": list(self.ports), "process_id": os.getpid()}
        logger.info("relay listening", extra=fields)

    def _bind_ports(self) -> list[socket.socket]:
        with contextlib.ExitStack() as unbind:
            sockets = []
            for port in self._config.ports:
                sockets.append(unbind.enter_context(bind_port(self._config, port)))
            unbind.pop_all()
        return sockets

    def _tls_arguments(self) -> dict[str, Any]:
        tls = self._context.tls
        if tls is None or not self._config.implicit_tls:
            return {}
        return {"ssl": tls.following(), "ssl_handshake_timeout": self._config.idle_seconds}

    async def drain(self) -> None:
        """Stop listening, let messages under way finish, then end every connection."""
        loop = asyncio.get_running_loop()
        for listener in self._listeners:
            listener.close()
        self._context.connections.finish()
        await self._wait_for_clients_to_go(self._config.drain_seconds)
        self._context.connections.give_up()
        # Calls under way end first: a message must not be half stored.
        await loop.run_in_executor(None, self._context.workers.shutdown)
        await self._wait_for_clients_to_go(_GOODBYE_SECONDS)
        self._context.connections.abort()
        for recorder in self._recorders:
            recorder.cancel()
        self._write_counters()

    async def _wait_for_clients_to_go(self, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        while len(self._context.connections) and loop.time() < deadline:
            await asyncio.sleep(_DRAIN_LOOK_SECONDS)

    async def _record(self) -> None:
        while True:
            await asyncio.sleep(self._config.counters_seconds)
            self._write_counters()

    async def _share(self, figures: FigureWriter) -> None:
        while True:
            figures.write(self.counters, self.connections_open)
            await asyncio.sleep(_SHARE_SECONDS)

    def _write_counters(self) -> None:
        self.counters.write(self._context.service.name, self.ports, self.connections_open)


async def serve(*relays: RelayServer, lifeline: int | None = None) -> None:
    """Run the relays until SIGTERM or SIGINT, then drain them all at once.

    `lifeline` is the reading end of a pipe whose writing end another process holds: when that
    process dies, the relays drain as well.
    """
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    if lifeline is not None:
        loop.add_reader(lifeline, stop.set)
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    try:
        for relay in relays:
            await relay.start()
        await stop.wait()
        if lifeline is not None:
            loop.remove_reader(lifeline)
    finally:
        await asyncio.gather(*(relay.drain() for relay in relays))


def bind_port(config: RelayConfig, port: int) -> socket.socket:
    """Return a bound socket that does not listen yet; raises OSError."""
    family = socket.AF_INET6 if ":" in config.host else socket.AF_INET
    # Without the protocol's number asyncio would leave Nagle's algorithm on.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if config.reuse_port:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        listener.bind((config.host, port))
    except OSError as error:
        listener.close()
        raise OSError(error.errno, f"port {port} of {config.host}: {error.strerror}") from None
    listener.setblocking(False)
    return listener
