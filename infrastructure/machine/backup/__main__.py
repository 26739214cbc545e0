"""Run `postfinch backup` and `postfinch restore`: ``python -m infrastructure.machine.backup``."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from pathlib import Path

from infrastructure.local.supervisor.data_folder import ConfigError
from infrastructure.machine import config_file, settings
from infrastructure.machine.backup import layout
from infrastructure.machine.backup.create import create_backup
from infrastructure.machine.backup.errors import BackupError
from infrastructure.machine.backup.progress import TerminalLine
from infrastructure.machine.backup.restore import restore_backup

_CLEAR = (
    "The file has the keys of the service in the clear, as BACKUP_PASSPHRASE is not set: "
    "keep it where only you can read it."
)
_CONFIGURATION = "The configuration file of the copied machine is {path}."
_HELD = (
    "{count} queue messages wait in the dead-letter queues: "
    "`postfinch admin --local redrive-dead-letters` lets them go on."
)


def main(arguments: list[str] | None = None) -> int:
    """Make or restore a backup; return the exit status."""
    options = _parser().parse_args(arguments)
    signal.signal(signal.SIGTERM, _end)
    line = TerminalLine()
    try:
        environ = config_file.environment(os.environ)
        data_dir = options.data_dir or Path(environ.get("DATA_DIR") or settings.DATA_DIR)
        passphrase = environ.get("BACKUP_PASSPHRASE", "")
        if options.command == "restore":
            lines = _restore(options, data_dir, passphrase, line)
        else:
            lines = _create(options, data_dir, passphrase, line)
    except (BackupError, ConfigError) as error:
        message = str(error)
    except OSError as error:
        message = f"{error.filename}: {error.strerror}" if error.filename else str(error)
    else:
        line.clear()
        print("\n".join(lines))
        return 0
    line.clear()
    print(f"postfinch: {message}", file=sys.stderr)
    return 1


def _create(
    options: argparse.Namespace, data_dir: Path, passphrase: str, line: TerminalLine
) -> list[str]:
    backup = create_backup(
        data_dir,
        options.path,
        passphrase=passphrase,
        configuration=config_file.path_of(os.environ),
        on_progress=line.show,
    )
    result = (
        f"{options.path} has {backup.files} files, {backup.bytes / 1e6:,.1f} MB in "
        f"{backup.archive_bytes / 1e6:,.1f} MB, as of {backup.description.date}."
    )
    return [result] if passphrase else [result, _CLEAR]


def _restore(
    options: argparse.Namespace, data_dir: Path, passphrase: str, line: TerminalLine
) -> list[str]:
    restoration = restore_backup(
        options.path,
        data_dir,
        passphrase=passphrase,
        holds=options.hold,
        on_progress=line.show,
    )
    description = restoration.description
    lines = [
        f"{data_dir} has the {restoration.files} files, {restoration.bytes / 1e6:,.1f} MB, of "
        f"{description.date} (Postfinch {description.postfinch})."
    ]
    if (data_dir / layout.CONFIGURATION).exists():
        lines.append(_CONFIGURATION.format(path=data_dir / layout.CONFIGURATION))
    if options.hold:
        lines.append(_HELD.format(count=restoration.messages_on_hold))
    return lines


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Make and restore backups of a data directory.")
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("create", "restore"):
        command = commands.add_parser(name)
        command.add_argument("path", type=Path)
        command.add_argument("--data-dir", type=Path)
        if name == "restore":
            command.add_argument("--hold", action="store_true")
    return parser


def _end(*_: object) -> None:
    """End in order, so that no partial file stays."""
    raise SystemExit(128 + signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(main())
