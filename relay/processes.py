"""Serve the same ports (SO_REUSEPORT) in several processes, which a supervisor restarts.

The supervisor binds the ports first and never listens on them: a port in use is an error before
anything starts, and the ports stay reserved while a process is restarted. SIGTERM and SIGINT make
all processes drain, and so does the end of the supervisor.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from chalicelib.core import allocator
from chalicelib.core.process_group import ProcessGroup
from relay.config import RelayConfig
from relay.failed_logins import FailedLogins
from relay.server import RelayServer, bind_port, serve
from relay.services import Service
from relay.shared_figures import SharedFigures
from relay.tls import TlsContexts
from relay.traffic import Traffic


@dataclass(frozen=True, slots=True)
class Listener:
    """A service and where it listens; every process serves all listeners.

    All processes share `failed_logins` and `traffic`, because they are forked after these are made.
    """

    config: RelayConfig
    service: Service
    tls: TlsContexts | None
    failed_logins: FailedLogins = field(default_factory=FailedLogins)
    traffic: Traffic = field(default_factory=Traffic)


@dataclass(frozen=True, slots=True)
class MetricsPort:
    """Where Prometheus reads the figures of all processes."""

    host: str
    port: int


def run(
    listeners: Sequence[Listener], processes: int, metrics_port: MetricsPort | None = None
) -> None:
    """Serve until SIGTERM or SIGINT and drain; raises OSError when a port cannot be bound."""
    figures = SharedFigures([each.service.name for each in listeners], processes)
    if processes == 1:
        _serve(listeners, figures, 0, metrics_port)
        return
    if metrics_port is not None:  # in use is an error before anything starts
        socket.create_server((metrics_port.host, metrics_port.port)).close()
    with contextlib.ExitStack() as reserved:
        on_reserved_ports = []
        for listener in listeners:
            for port in listener.config.ports:
                # Not shared: otherwise this relay could join another one unnoticed.
                bind_port(listener.config, port).close()
            config = replace(listener.config, reuse_port=True)
            sockets = [reserved.enter_context(bind_port(config, port)) for port in config.ports]
            ports = tuple(each.getsockname()[1] for each in sockets)
            on_reserved_ports.append(replace(listener, config=replace(config, ports=ports)))

        def serve_in_process(number: int, lifeline: int) -> None:
            _serve(on_reserved_ports, figures, number, metrics_port, lifeline)

        ProcessGroup("relay", processes, serve_in_process).run()


def _serve(
    listeners: Sequence[Listener],
    figures: SharedFigures,
    process: int,
    metrics_port: MetricsPort | None,
    lifeline: int | None = None,
) -> None:
    """Serve in this process; the first one tells the figures of all to Prometheus."""
    allocator.keep_little()
    if metrics_port is not None and process == 0:
        # Imported here because most relays do without
        from relay import prometheus

        prometheus.serve(figures, metrics_port.host, metrics_port.port)
    relays = [
        RelayServer(
            each.config,
            each.service,
            each.tls,
            each.failed_logins,
            figures.writer(process, number) if metrics_port else None,
            each.traffic,
        )
        for number, each in enumerate(listeners)
    ]
    asyncio.run(serve(*relays, lifeline=lifeline))
