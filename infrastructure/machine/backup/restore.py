"""Restore a backup into an empty data directory.

All of it is written into a folder inside of the directory, and checked there, before anything gets
its place. What is wrong with the archive or the passphrase leaves nothing behind. Nobody is signed
in at the restored service.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from infrastructure.local.cloud import store
from infrastructure.local.cloud.store import DamagedState
from infrastructure.local.supervisor import data_folder
from infrastructure.local.supervisor.data_folder import ConfigError
from infrastructure.machine.backup import layout
from infrastructure.machine.backup.archive_reader import ArchiveReader, read_small
from infrastructure.machine.backup.description import Description
from infrastructure.machine.backup.errors import BackupError, DamagedArchive
from infrastructure.machine.backup.hold import hold
from infrastructure.machine.backup.new_file import synchronize
from infrastructure.machine.backup.sessions import end_sessions

_LOCK = "lock"
_NEW = ".restore"
# What a directory may have that counts as empty
_IGNORED = frozenset({_LOCK, _NEW, "lost+found"})
# Journals are kept for longer than dead letters may wait
_JOURNAL_SECONDS = 15 * 86_400

#: What is being restored, how many bytes of it are, and how many there are (0: not known)
OnProgress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Restoration:
    """A backup that was restored: what it is, its files and bytes, and how many messages wait."""

    description: Description
    files: int
    bytes: int
    messages_on_hold: int


def restore_backup(
    path: Path,
    data_dir: Path,
    *,
    passphrase: str = "",
    holds: bool = False,
    on_progress: OnProgress = lambda what, size, total: None,
) -> Restoration:
    """Restore the backup at ``path`` into ``data_dir``, which is empty or does not exist.

    With ``holds``, mail that was under way waits in the dead-letter queues (:mod:`hold`). It is
    right if the machine of the backup ran on after the copy: it may have sent what the copy has as
    not sent. Without it, that mail goes on; it is right for a copy that was made after the end of
    that machine's service. Raises :class:`BackupError`, or OSError.
    """
    with path.open("rb") as file:
        reader = ArchiveReader(file)
        box = reader.description.open_box(passphrase)
        with _empty_folder(data_dir) as folder:
            for name, size, content in reader.files():
                target = folder / name
                target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                if box and layout.is_secret(name):
                    content = iter([box.open(name, read_small(name, size, content))])
                _write(target, content)
                on_progress("files", reader.listing.bytes, 0)
            count = _prepare(folder, holds=holds)
            _put_in_place(folder, data_dir)
    return Restoration(reader.description, reader.listing.files, reader.listing.bytes, count)


@contextmanager
def _empty_folder(data_dir: Path) -> Iterator[Path]:
    """Take an empty data directory, and give a folder in it; the block's errors leave neither."""
    is_new = not data_dir.exists()
    has_lock = (data_dir / _LOCK).exists()
    try:
        lock = data_folder.take(data_folder.open_folder(str(data_dir)))
    except ConfigError as error:
        raise BackupError(str(error)) from None
    folder = data_dir / _NEW
    try:
        if names := sorted(set(os.listdir(data_dir)) - _IGNORED):
            raise BackupError(
                f"{data_dir} is not empty, it has {names[0]}: name another folder, or move it away"
            )
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(mode=0o700)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    except BaseException:
        if not has_lock:
            (data_dir / _LOCK).unlink(missing_ok=True)
        if is_new:
            with suppress(OSError):
                data_dir.rmdir()
        raise
    finally:
        os.close(lock)


def _write(path: Path, content: Iterator[bytes]) -> None:
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    except FileExistsError:
        raise DamagedArchive(f"it has {path.name} twice") from None
    with os.fdopen(descriptor, "wb") as file:
        for chunk in content:
            file.write(chunk)


def _prepare(folder: Path, *, holds: bool) -> int:
    """Make a service of files that were checked; return how many queue messages wait."""
    database = folder / layout.DATABASE
    if not database.exists():
        raise DamagedArchive("it has no database")
    now = time.time()
    try:
        store.check(database)
        end_sessions(database)
        count = hold(database, now) if holds else 0
    except (DamagedState, sqlite3.Error) as error:
        raise DamagedArchive(str(error)) from None
    for journal in (folder / layout.JOURNAL).glob("*"):
        os.utime(journal, (now, now + _JOURNAL_SECONDS))
    return count


def _put_in_place(folder: Path, data_dir: Path) -> None:
    os.sync()
    # A start without the database would make a new one, so it comes last
    for path in sorted(folder.iterdir(), key=lambda path: path.name == layout.CLOUD):
        path.rename(data_dir / path.name)
    synchronize(data_dir)
