"""Serve the same ports (SO_REUSEPORT) in several processes, and supervise them.

The supervisor binds the ports first and never listens on them: a port in use is an error before
anything starts, and the ports stay reserved while a process is restarted. It restarts a process
that ends, passes SIGTERM and SIGINT on, and returns when all have drained. If the supervisor dies,
the other processes notice it and drain.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import FrameType

from relay.config import RelayConfig
from relay.failed_logins import FailedLogins
from relay.server import RelayServer, bind_port, serve
from relay.services import Service
from relay.shared_figures import SharedFigures
from relay.tls import TlsContexts

logger = logging.getLogger("relay")

# Before a process that ended is restarted.
_PAUSE_SECONDS = 1.0
_STOPPING = (signal.SIGTERM, signal.SIGINT)
# cgroup v2: the microseconds of processor time a period, or "max"; and the period
_QUOTA = Path("/sys/fs/cgroup/cpu.max")


@dataclass(frozen=True, slots=True)
class Listener:
    """A service and where it listens; every process serves all listeners.

    All processes share `failed_logins`, because they are forked after it is made.
    """

    config: RelayConfig
    service: Service
    tls: TlsContexts | None
    failed_logins: FailedLogins = field(default_factory=FailedLogins)


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
        _Supervisor(on_reserved_ports, processes, figures, metrics_port).run()


def usable_cores(quota_file: Path = _QUOTA) -> int:
    """Return how many cores this process may use: the container's quota or all, at least one."""
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:  # not on macOS
        cores = os.cpu_count() or 1
    try:
        quota, period = quota_file.read_text().split()
        return max(1, min(cores, -(-int(quota) // int(period))))
    except (OSError, ValueError):  # no such file, or no quota
        return cores


def _serve(
    listeners: Sequence[Listener],
    figures: SharedFigures,
    process: int,
    metrics_port: MetricsPort | None,
    lifeline: int | None = None,
) -> None:
    """Serve in this process; the first one tells the figures of all to Prometheus."""
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
        )
        for number, each in enumerate(listeners)
    ]
    asyncio.run(serve(*relays, lifeline=lifeline))


class _Supervisor:
    """The process that starts and restarts the others."""

    def __init__(
        self,
        listeners: Sequence[Listener],
        processes: int,
        figures: SharedFigures,
        metrics_port: MetricsPort | None,
    ) -> None:
        self._listeners = listeners
        self._figures = figures
        self._metrics_port = metrics_port
        # The number of each process by its id
        self._children: dict[int, int] = {}
        # When each missing process is to be started, by its number
        self._due = dict.fromkeys(range(processes), 0.0)
        self._stopping = False
        # The other end closes with this process, whatever ends it.
        self._lifeline, self._own_end = os.pipe()
        self._woken, self._signalled = os.pipe()

    def run(self) -> None:
        for end in (self._woken, self._signalled):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(self._signalled, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        for number in _STOPPING:
            signal.signal(number, self._stop)
        while self._children or not self._stopping:
            self._start_due_processes()
            select.select([self._woken], [], [], self._seconds_to_next_start())
            self._collect_ended_processes()

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self._stopping = True
        self._due.clear()
        for child in self._children:
            os.kill(child, signal.SIGTERM)

    def _start_due_processes(self) -> None:
        now = time.monotonic()
        for number in [number for number, due in self._due.items() if due <= now]:
            # A signal comes before the start, or finds the child among the children.
            signal.pthread_sigmask(signal.SIG_BLOCK, _STOPPING)
            if not self._stopping:
                del self._due[number]
                self._children[self._fork(number)] = number
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOPPING)

    def _seconds_to_next_start(self) -> float | None:
        return max(0.0, min(self._due.values()) - time.monotonic()) if self._due else None

    def _collect_ended_processes(self) -> None:
        with contextlib.suppress(BlockingIOError):
            os.read(self._woken, 4096)
        for child in tuple(self._children):
            ended, status = os.waitpid(child, os.WNOHANG)
            if not ended:
                continue
            number = self._children.pop(child)
            if not self._stopping:
                code = os.waitstatus_to_exitcode(status)
                fields = {"process_id": child, "status": code}
                logger.error("relay process ended", extra={"fields": fields})
                self._due[number] = time.monotonic() + _PAUSE_SECONDS

    def _fork(self, number: int) -> int:
        child = os.fork()
        if child:
            return child
        status = 1
        try:
            self._serve(number)
            status = 0
        except SystemExit:
            status = 0
        except BaseException:
            logger.exception("relay process failed")
        finally:
            sys.stdout.flush()
            os._exit(status)

    def _serve(self, process: int) -> None:
        """Serve in a child, without the supervisor's signal handlers and its end of the pipe."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for number in _STOPPING:
            # Until the server is there to drain.
            signal.signal(number, lambda number, frame: sys.exit())
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOPPING)
        os.close(self._own_end)
        _serve(self._listeners, self._figures, process, self._metrics_port, self._lifeline)
