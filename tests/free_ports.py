"""Choose ports for what tests start."""

from __future__ import annotations

import random
import socket

# Below the ports that systems give to connections, and those that a service chooses itself
_RANGE = (10_000, 20_000)
_returned: set[int] = set()
_choose = random.SystemRandom()  # a test run may seed the other one


def free_port() -> int:
    """Return a port that nothing listens on now, and that this process was not told before."""
    while True:
        port = _choose.randrange(*_RANGE)
        if port not in _returned and _is_free(port):
            _returned.add(port)
            return port


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
