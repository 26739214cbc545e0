"""Run a command in a container: ``run``, ``serve``, or one beside the service that runs there.

The service is the first process of its container. The kernel gives that process no default action
for SIGTERM. Without a handler, a stop in the first second, while the service is being imported,
would be ignored until the engine kills everything.
"""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType

_RUN, _SERVE = "run", "serve"


def main() -> int:
    """Run the command of the arguments to its end, or until asked to stop; return the status."""
    command = sys.argv[1:] or [_RUN]
    if command in ([_RUN], [_SERVE]):
        signal.signal(signal.SIGTERM, _end)
    if command[0] == _SERVE or (command[0] != _RUN and os.environ.get("SYSTEM_DOMAIN")):
        _complete_production()
    if command == [_SERVE]:
        from infrastructure.machine import serve

        return serve.main()
    if command == [_RUN]:
        # A mapping decides who reaches the ports
        os.environ.setdefault("RELAY_HOST", "0.0.0.0")
        from infrastructure.local import run

        return run.main([])
    os.execv(sys.executable, [sys.executable, "-m", "postfinch", *command])


def _complete_production() -> None:
    from infrastructure.local.supervisor.data_folder import ConfigError
    from infrastructure.machine import container

    try:
        os.environ.update(container.settings(os.environ))
    except ConfigError:
        return  # the command says it as well


def _end(number: int, frame: FrameType | None) -> None:
    """End at once: nothing was started yet. The supervisor has a handler of its own."""
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main())
