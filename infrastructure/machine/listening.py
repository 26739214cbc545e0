"""Bind the public ports: on every address of the machine, or on one."""

from __future__ import annotations

import errno
import socket
from contextlib import closing

from infrastructure.local.supervisor.data_folder import ConfigError

_LOWEST_FREE_PORT = 1024
_BACKLOG = 2048


def every_address() -> str:
    """Return the address that stands for all of this machine, those of IPv6 too if it has any."""
    return "::" if socket.has_dualstack_ipv6() else "0.0.0.0"


def bind(address: str, port: int) -> socket.socket:
    """Return a socket that listens on a port of an address (empty: of all); raises ``OSError``.

    On all addresses, clients of IPv4 have addresses of the form ``::ffff:192.0.2.1``.
    """
    host = address or every_address()
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server(
        (host, port), family=family, backlog=_BACKLOG, dualstack_ipv6=not address and ":" in host
    )


def require_bindable(name: str, address: str, port: int) -> None:
    """Raise :class:`ConfigError` if the port that a setting names cannot be bound."""
    if not port:
        return
    try:
        with closing(bind(address, port)):
            return
    except OSError as error:
        raise ConfigError(refusal(name, address, port, error)) from None


def refusal(name: str, address: str, port: int, error: OSError) -> str:
    """Return why a port could not be bound, and after a semicolon what to do about it."""
    where = f"{name}={port}"
    if error.errno == errno.EACCES and port < _LOWEST_FREE_PORT:
        return (
            f"{where}: this user may not bind ports below {_LOWEST_FREE_PORT}; the unit of "
            "`postfinch service` gives it the right (CAP_NET_BIND_SERVICE)"
        )
    if error.errno == errno.EADDRINUSE:
        return f"{where}: another program has this port; end it, or set {name} to another one"
    return f"{where} of {address or 'this machine'} cannot be bound: {error.strerror}"
