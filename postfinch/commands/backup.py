"""``postfinch backup`` and ``postfinch restore``: all that a service on one machine has stored."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from postfinch import local_service
from postfinch.commands.options import DataDirOption


def backup(
    path: Annotated[Path, typer.Argument(help="The new file.")], data_dir: DataDirOption = None
) -> None:
    """Write everything that the service has stored into one new file, while it runs or not.

    The file has the state of one instant: accounts, mail that waits, events, keys and certificates.
    Set BACKUP_PASSPHRASE to encrypt the keys in it. Without the passphrase nobody can restore it.
    """
    _become("create", path, data_dir)


def restore(
    path: Annotated[Path, typer.Argument(help="A file that `postfinch backup` wrote.")],
    data_dir: DataDirOption = None,
    hold: Annotated[
        bool,
        typer.Option(
            "--hold",
            help="Do not send what was under way; it waits until "
            "`postfinch admin --local redrive-dead-letters`.",
        ),
    ] = False,
) -> None:
    """Fill an empty folder from a backup. Then start the service with this folder.

    Mail that was under way when the backup was made goes on. This is right if the old service had
    ended before. If the old service ran on after the backup, it may have sent this mail: with
    --hold nothing of it is sent until you say so. BACKUP_PASSPHRASE must be that of the backup.
    """
    _become("restore", path, data_dir, *(["--hold"] if hold else []))


def _become(command: str, path: Path, data_dir: Path | None, *options: str) -> None:
    """Let a module of the service take the place of this process."""
    arguments = [command, str(path), *options]
    if data_dir is not None:
        arguments += ["--data-dir", str(data_dir)]
    os.execve(
        sys.executable,
        [sys.executable, "-m", "infrastructure.machine.backup", *arguments],
        local_service.of_modules(os.environ),
    )
