"""``postfinch service``: the systemd unit that runs production on this machine."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from postfinch import local_service, locations
from postfinch.commands.options import ConfigOption, DataDirOption, with_folders

_MODULE = "infrastructure.machine.systemd_unit"


def service(
    user: Annotated[
        str, typer.Option(help="User that the service runs as; it must exist.")
    ] = "postfinch",
    config: ConfigOption = None,
    data_dir: DataDirOption = None,
) -> None:
    """Print a systemd unit: no root, and a system that the service can only read.

    To install it: `postfinch service | sudo tee /etc/systemd/system/postfinch.service`, then
    `sudo systemctl daemon-reload` and `sudo systemctl enable --now postfinch`.
    """
    environment = with_folders(local_service.of_modules(os.environ), config, data_dir)
    command, path = _command()
    options = [f"--user={user}", f"--path={path}", "--", *command]
    os.execve(sys.executable, [sys.executable, "-m", _MODULE, *options], environment)


def _command() -> tuple[list[str], str]:
    """Return the command that runs this program anywhere, and where its modules are if need be."""
    script = Path(sys.executable).with_name("postfinch")
    if script.exists():
        return [str(script)], ""
    return [sys.executable, "-m", "postfinch"], str(locations.service_root())
