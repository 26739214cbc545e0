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


def greets_by_smtp(
    port: int, *, host: str = LOOPBACK, is_tls: bool = False, seconds: float = TIMEOUT
) -> bool:
    """Tell whether ``port`` greets with 220, if asked under TLS, within ``seconds``."""
    try:
        with _connection(host, port, seconds, is_tls=is_tls) as connection:
            greeting = connection.recv(3) if is_tls else connection.recv(3, socket.MSG_WAITALL)
            connection.sendall(b"QUIT\r\n")
            # A server that is left before it has answered logs an error
            with suppress(OSError):
                while connection.recv(4096):
                    pass
            return greeting == b"220"
    except OSError:
        return False


def _connection(host: str, port: int, seconds: float, *, is_tls: bool) -> socket.socket:
    connection = socket.create_connection((host, port), seconds)
    if not is_tls:
        return connection
    # Imported here: only a port that begins with TLS needs it
    import ssl

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    # Whether it serves is asked, not who it is
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        return context.wrap_socket(connection)
    except OSError:
        connection.close()
        raise
