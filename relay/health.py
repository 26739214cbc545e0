"""Whether the relay of this host answers: ``python -m relay.health`` ends with status 0 if so.

Each of its ports must greet within some seconds. A process that does nothing but say 421 is not
healthy.
"""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterable

from chalicelib.core.settings import settings

_PATIENCE_SECONDS = 4.0


def main() -> int:
    """Ask every port that the settings name; return the exit status."""
    given = settings()
    named = f"{given.relay_ports},{given.relay_inbound_ports}".split(",")
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(given.relay_host, given.relay_host)
    silent = silent_ports(host, [int(port) for port in named if port])
    for port in silent:
        print(f"port {port} does not greet", file=sys.stderr)
    return 1 if silent else 0


def silent_ports(host: str, ports: Iterable[int]) -> list[int]:
    """Return those of the ports at which no mail server is ready."""
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
