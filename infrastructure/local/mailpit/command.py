"""Be the command `mailpit` of the image, for what is written for Mailpit's image.

``/mailpit readyz`` is in the health checks of Compose files, and ``/mailpit`` alone, or with flags,
starts the service.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping, Sequence

_USUAL_PORT = 8025
_ELSEWHERE = {
    "sendmail": "send by SMTP to port 1025",
    "ingest": "use `postfinch mail import`",
    "dump": "use `postfinch mail`",
    "reindex": "the index of the mailbox is made again if its file is removed",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return the exit status."""
    command = list(sys.argv[1:] if arguments is None else arguments)
    if command[:1] == ["readyz"]:
        return _readyz(command[1:])
    if command == ["version"]:
        from chalicelib import __version__

        print(f"mailpit of Postfinch {__version__}")
        return 0
    if command and command[0] in _ELSEWHERE:
        print(f"mailpit: there is no {command[0]} here: {_ELSEWHERE[command[0]]}", file=sys.stderr)
        return 2
    os.execv(sys.executable, [sys.executable, "-m", "infrastructure.local.container", *command])


def address(environ: Mapping[str, str]) -> tuple[int, str]:
    """Return the port of Mailpit's API and the path of its check, as they were chosen."""
    bind = environ.get("MP_UI_BIND_ADDR", "").rpartition(":")[2]
    port = environ.get("MAILPIT_PORT") or bind or str(_USUAL_PORT)
    root = (environ.get("MAILPIT_ROOT") or environ.get("MP_WEBROOT") or "").strip("/")
    return int(port), f"/{root}/readyz" if root else "/readyz"


def _readyz(flags: Sequence[str]) -> int:
    from infrastructure.local.mailpit.flags import variables_of
    from infrastructure.local.supervisor.probes import answers_http

    try:
        choices = variables_of(flags)
        port, path = address({**os.environ, **_without_ours(choices)})
        patience = float(choices.get("MP_TIMEOUT", "30s").rstrip("s"))
    except ValueError as error:
        print(f"mailpit readyz: {error}", file=sys.stderr)
        return 2
    deadline = time.monotonic() + (patience if "MP_WAIT" in choices else 0)
    while not answers_http(port, path, (200,)):
        if time.monotonic() >= deadline:
            print(f"nothing is ready at port {port}{path}", file=sys.stderr)
            return 1
        time.sleep(min(1.0, max(0.0, deadline - time.monotonic())))
    return 0


def _without_ours(choices: Mapping[str, str]) -> dict[str, str]:
    """Return the choices of the flags with our own settings, which would win, out of the way."""
    hidden = {"MP_UI_BIND_ADDR": "MAILPIT_PORT", "MP_WEBROOT": "MAILPIT_ROOT"}
    return {**choices, **{ours: "" for name, ours in hidden.items() if name in choices}}


if __name__ == "__main__":
    sys.exit(main())
