"""Run a service as the first process of a container: the local one, or with ``serve`` production.

The kernel gives that process no default action for SIGTERM. Without a handler, a stop in the first
second, while the service is being imported, would be ignored until the engine kills everything.
"""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType


def main() -> int:
    """Run until asked to stop; return the exit status."""
    signal.signal(signal.SIGTERM, _end)
    if sys.argv[1:] == ["serve"]:
        from infrastructure.machine import serve

        return serve.main()
    from infrastructure.local import run

    return run.main([])


def _end(number: int, frame: FrameType | None) -> None:
    """End at once: nothing was started yet. The supervisor has a handler of its own."""
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main())
