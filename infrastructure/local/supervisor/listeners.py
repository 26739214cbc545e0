"""Listen on ports before their processes run, and hand the sockets to these.

Two services that start at the same time would both find a port free, if each looked and listened a
second later. With the socket in the supervisor's hands, a port is this service's or it is not. Who
connects while its process starts, or is started again, waits for it.
"""

from __future__ import annotations

import socket
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field

LOOPBACK = "127.0.0.1"
_BACKLOG = 512


@dataclass(frozen=True, slots=True)
class Listeners:
    """Listening sockets by the variable that names their port."""

    sockets: dict[str, list[socket.socket]] = field(default_factory=dict)

    def open(self, name: str, host: str, port: int) -> None:
        """Listen on the port of a variable; raises OSError."""
        self.sockets[name] = listen(host, port)

    def variables(self, names: Iterable[str]) -> dict[str, str]:
        """Return the variables that tell a process its sockets."""
        return {_variable(name): ",".join(map(str, self.descriptors(name))) for name in names}

    def descriptors(self, *names: str) -> tuple[int, ...]:
        """Return the descriptors of the sockets that a process needs."""
        return tuple(each.fileno() for name in names for each in self.sockets.get(name, ()))

    def close(self) -> None:
        """Leave the ports to the processes that have them."""
        for sockets in self.sockets.values():
            for each in sockets:
                each.close()
        self.sockets.clear()


def listening_sockets(environ: Mapping[str, str], name: str) -> list[socket.socket]:
    """Return the sockets of a port for the process with this environment; none for port 0.

    They are the supervisor's where there is one. Raises OSError if the port cannot be bound.
    """
    if descriptors := environ.get(_variable(name)):
        return [_adopted(int(each)) for each in descriptors.split(",")]
    port = int(environ.get(name) or "0")
    return listen(environ.get("API_HOST") or LOOPBACK, port) if port else []


def listen(host: str, port: int) -> list[socket.socket]:
    """Listen on a port of all addresses of a host; raises OSError."""
    with ExitStack() as unbind:
        sockets = []
        for family, kind, number, _, address in socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        ):
            listener = unbind.enter_context(socket.socket(family, kind, number))
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            listener.bind(address)
            # Another program may have bound it, too: only one of them can listen
            listener.listen(_BACKLOG)
            listener.setblocking(False)
            sockets.append(listener)
        unbind.pop_all()
    return sockets


def _adopted(descriptor: int) -> socket.socket:
    listener = socket.socket(fileno=descriptor)
    listener.set_inheritable(False)
    return listener


def _variable(name: str) -> str:
    return f"{name}_SOCKETS"
