"""Write a backup of a data directory, whether or not its service runs.

What is copied, in this order:

1. At one instant the database is held as it is (``database_copy``).
2. The delivery journals are copied right after it, so that the copy knows what was sent before the
   instant (``journal_copy``).
3. The database itself. Meanwhile the service goes on.
4. The objects that the copied database names. Their files are written before the database names
   them, never change, and stay for an hour after nothing names them.
5. The keys, the certificates and the configuration file, encrypted if there is a passphrase.

Logs, ports, locks and the mailbox of `postfinch run` are not copied.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from infrastructure.machine.backup import layout
from infrastructure.machine.backup.archive_writer import ArchiveWriter
from infrastructure.machine.backup.database_copy import copied_objects, snapshot
from infrastructure.machine.backup.description import Description, describe
from infrastructure.machine.backup.journal_copy import journals
from infrastructure.machine.backup.new_file import check_room, new_file, temporary_beside
from infrastructure.machine.backup.passphrase import SecretBox

_COPY = ".partial.sqlite3"

#: What is being copied, how many bytes of it are, and how many there are (0: not known)
OnProgress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Backup:
    """A backup that was written: what it is, its files with their bytes, and its own size."""

    description: Description
    files: int
    bytes: int
    archive_bytes: int


def create_backup(
    data_dir: Path,
    path: Path,
    *,
    passphrase: str = "",
    configuration: Path | None = None,
    on_progress: OnProgress = lambda what, size, total: None,
) -> Backup:
    """Write the backup of ``data_dir`` into the new file ``path``, or nothing at all.

    ``configuration`` is the configuration file of the machine, if it has one. Raises
    :class:`BackupError`, or OSError with the file that cannot be read or written. A disk without
    room for the backup raises OSError before it is full.
    """
    box = SecretBox.create(passphrase) if passphrase else None
    with new_file(path) as file, temporary_beside(path, _COPY) as copy:
        with snapshot(data_dir / layout.DATABASE) as state:
            check_room(path.parent, state.bytes)
            description = describe(time.time(), box)
            writer = ArchiveWriter(file, description, box)
            for name, lines in journals(data_dir / layout.JOURNAL):
                writer.add(name, lines)
            state.copy(copy, partial(on_progress, "database"))
        copying = _Copying(writer, path.parent, on_progress)
        with copied_objects(copy) as objects:
            copying.copy(layout.DATABASE, copy)
            for name in map(layout.object_path, objects):
                copying.copy(name, data_dir / name)
        for name in layout.small_files(data_dir):
            writer.add(name, (data_dir / name).read_bytes())
        if configuration is not None and configuration.exists():
            writer.add(layout.CONFIGURATION, configuration.read_bytes())
        writer.finish()
        listing, size = writer.listing, file.tell()
        return Backup(description, listing.files, listing.bytes, size)


class _Copying:
    """Copies large files into an archive in ``directory``, whose disk must not become full."""

    def __init__(self, writer: ArchiveWriter, directory: Path, on_progress: OnProgress) -> None:
        self._writer = writer
        self._directory = directory
        self._on_progress = on_progress
        self._size = 0

    def copy(self, name: str, source: Path) -> None:
        with source.open("rb") as file:
            for size in self._writer.add_file(name, file, os.fstat(file.fileno()).st_size):
                self._size += size
                check_room(self._directory)
                self._on_progress("archive", self._size, 0)
