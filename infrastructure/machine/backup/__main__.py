"""Run `postfinch backup` and `postfinch restore`: ``python -m infrastructure.machine.backup``."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from pathlib import Path

from infrastructure.machine.backup.create import create_backup
from infrastructure.machine.backup.errors import BackupError
from infrastructure.machine.backup.progress import TerminalLine
from infrastructure.machine.backup.restore import restore_backup

_DATA_DIR = ".local"
_CONFIGURATION = "/etc/postfinch/postfinch.toml"
_CLEAR = (
    "The file has the keys of the service in the clear, as BACKUP_PASSPHRASE is not set: "
    "keep it where only you can read it."
)
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
        lines = _restore(options, line) if options.command == "restore" else _create(options, line)
    except BackupError as error:
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


def _create(options: argparse.Namespace, line: TerminalLine) -> list[str]:
    passphrase = os.environ.get("BACKUP_PASSPHRASE", "")
    backup = create_backup(
        options.data_dir,
        options.path,
        passphrase=passphrase,
        configuration=Path(os.environ.get("POSTFINCH_CONFIG") or _CONFIGURATION),
        on_progress=line.show,
    )
    result = (
        f"{options.path} has {backup.files} files, {backup.bytes / 1e6:,.1f} MB in "
        f"{backup.archive_bytes / 1e6:,.1f} MB, as of {backup.description.date}."
    )
    return [result] if passphrase else [result, _CLEAR]


def _restore(options: argparse.Namespace, line: TerminalLine) -> list[str]:
    restoration = restore_backup(
        options.path,
        options.data_dir,
        passphrase=os.environ.get("BACKUP_PASSPHRASE", ""),
        holds=options.hold,
        on_progress=line.show,
    )
    description = restoration.description
    result = (
        f"{options.data_dir} has the {restoration.files} files, "
        f"{restoration.bytes / 1e6:,.1f} MB, of {description.date} (Postfinch "
        f"{description.postfinch})."
    )
    if not options.hold:
        return [result]
    return [result, _HELD.format(count=restoration.messages_on_hold)]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Make and restore backups of a data directory.")
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("create", "restore"):
        command = commands.add_parser(name)
        command.add_argument("path", type=Path)
        command.add_argument(
            "--data-dir", type=Path, default=Path(os.environ.get("DATA_DIR") or _DATA_DIR)
        )
        if name == "restore":
            command.add_argument("--hold", action="store_true")
    return parser


def _end(*_: object) -> None:
    """End in order, so that no partial file stays."""
    raise SystemExit(128 + signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(main())
