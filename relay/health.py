"""Check whether this host's relay answers: ``python -m relay.health`` exits with status 0 if so.

Each port must greet within some seconds. A process that only says 421 is not healthy.
"""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterable

from chalicelib.core.settings import settings

_PATIENCE_SECONDS = 4.0


def main() -> int:
    """Check every port of the settings; return the exit status."""
    current = settings()
    ports = f"{current.relay_ports},{current.relay_inbound_ports}".split(",")
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(current.relay_host, current.relay_host)
    silent = silent_ports(host, [int(port) for port in ports if port])
    for port in silent:
        print(f"port {port} does not greet", file=sys.stderr)
    return 1 if silent else 0


def silent_ports(host: str, ports: Iterable[int]) -> list[int]:
    """Return the ports at which no mail server is ready."""
    return [port for port in ports if not _greets(host, port)]


def _greets(host: str, port: int) -> bool:
    try:
        with socket.create_connection((host, port), _PATIENCE_SECONDS) as client:
            if not client.recv(4).startswith(b"220"):
                return False
            client.sendall(b"QUIT\r\n")
            return True
    except OSError:
        return False


if __name__ == "__main__":
    sys.exit(main())
