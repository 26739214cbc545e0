"""Check whether a server of this machine serves yet.

A server that is not there refuses at once; one that is busy gets time to answer.
"""

from __future__ import annotations

import http.client
import socket
from collections.abc import Collection, Mapping
from contextlib import suppress

LOOPBACK = "127.0.0.1"
TIMEOUT = 5.0


def answers_http(
    port: int,
    path: str,
    statuses: Collection[int],
    headers: Mapping[str, str] | None = None,
    *,
    host: str = LOOPBACK,
) -> bool:
    """Tell whether ``GET path`` on ``port`` is answered with one of ``statuses``."""
    connection = http.client.HTTPConnection(host, port, timeout=TIMEOUT)
    try:
        connection.request("GET", path, headers=dict(headers or {}))
        return connection.getresponse().status in statuses
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def listens(port: int) -> bool:
    """Tell whether ``port`` takes connections."""
    try:
        socket.create_connection((LOOPBACK, port), TIMEOUT).close()
    except OSError:
        return False
    return True


def greets_by_smtp(port: int, *, host: str = LOOPBACK) -> bool:
    """Tell whether ``port`` is greeted with 220."""
    try:
        with socket.create_connection((host, port), TIMEOUT) as connection:
            greeting = connection.recv(3, socket.MSG_WAITALL)
            connection.sendall(b"QUIT\r\n")
            # A server that is left before it has answered logs an error
            with suppress(OSError):
                while connection.recv(4096):
                    pass
            return greeting == b"220"
    except OSError:
        return False
