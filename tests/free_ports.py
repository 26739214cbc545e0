"""Choose ports for what tests start."""

from __future__ import annotations

import socket

_returned: set[int] = set()


def free_port() -> int:
    """Return a port that nothing listens on now, and that this process was not told before."""
    while True:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port: int = probe.getsockname()[1]
        if port not in _returned:
            _returned.add(port)
            return port
