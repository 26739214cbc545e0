"""``postfinch move``: take the whole service from a machine to a stage, or to another machine."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from postfinch import local_service, locations, profiles
from postfinch.commands.output import fail

_MISUSED = 2


def move(
    to: Annotated[str | None, typer.Option(help="Profile of the place to move to.")] = None,
    origin: Annotated[
        str | None, typer.Option("--from", help="Profile of the place to move from.")
    ] = None,
    data_dir: Annotated[
        Path | None,
        typer.Option(
            help="Folder of the service on this machine.",
            envvar="DATA_DIR",
            show_default="a folder of this user",
        ),
    ] = None,
    check: Annotated[bool, typer.Option("--check", help="Only show what would be moved.")] = False,
    last: Annotated[
        bool,
        typer.Option(
            "--last",
            help="With --from a stage: it does no more work, so scheduled work moves too.",
        ),
    ] = False,
) -> None:
    """Move accounts, keys, domains, events and all else to a stage or another machine.

    Run it again to copy what has changed since. docs/moving.md has the order that leaves no message
    behind.
    """
    name = to or origin
    if name is None or (to and origin):
        fail("say either --to PROFILE or --from PROFILE", _MISUSED)
    folder = data_dir or locations.data_dir()
    place = profiles.stored(name).place
    environment = local_service.environment(os.environ, folder)
    environment["COMMAND_NAME"] = "postfinch move"
    options = ["--data-dir", str(folder.absolute()), "--direction", "to" if to else "from"]
    options += ["--other", json.dumps(place)]
    options += ["--check"] * check + ["--last"] * last
    module = "infrastructure.machine.moving"
    os.execve(sys.executable, [sys.executable, "-m", module, *options], environment)
