"""Run a command in a container: ``run``, ``serve``, or one beside the service that runs there.

Flags without a command are those of Mailpit's image, in whose place this one may be: they start the
service, too.

The service is the first process of its container. The kernel gives that process no default action
for SIGTERM. Without a handler, a stop in the first second, while the service is being imported,
would be ignored until the engine kills everything.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Mapping, Sequence
from types import FrameType

_RUN, _SERVE = "run", "serve"
_OWN_FLAGS = ("-h", "--help", "--version")
#: Where mail is kept if the volume of a Mailpit belongs to its user
_INSTEAD = "/tmp/postfinch"


def main() -> int:
    """Run the command of the arguments to its end, or until asked to stop; return the status."""
    command = sys.argv[1:] or [_RUN]
    if command[0].startswith("-") and command[0] not in _OWN_FLAGS:
        if not _use_flags_of_mailpit(command):
            return 2
        command = [_RUN]
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
        _keep_mail_where_it_can_be(os.environ)
        from infrastructure.local import run

        return run.main([])
    os.execv(sys.executable, [sys.executable, "-m", "postfinch", *command])


def _use_flags_of_mailpit(flags: Sequence[str]) -> bool:
    """Set the variables that mean the same; print which flag has none, and return false."""
    from infrastructure.local.mailpit.flags import variables_of

    try:
        os.environ.update(variables_of(flags))
    except ValueError as error:
        print(f"postfinch: {error}", file=sys.stderr)
        return False
    return True


def _keep_mail_where_it_can_be(environ: Mapping[str, str]) -> None:
    """Use another folder than the volume if that was a Mailpit's, which runs as root."""
    folder = environ.get("DATA_DIR", "")
    is_mailpits = any(name.startswith("MP_") for name in environ)
    if not is_mailpits or not os.path.isdir(folder) or os.access(folder, os.W_OK):
        return
    print(
        f"Another user owns {folder}, so mail is kept in {_INSTEAD}, until the container is "
        f"removed. To keep it in {folder}, run the container as its owner (user: root).",
        flush=True,
    )
    os.environ["DATA_DIR"] = _INSTEAD


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
