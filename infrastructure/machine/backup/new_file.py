"""Write a new file as a whole or not at all, and leave room on its disk for the service."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from infrastructure.machine.backup.errors import BackupError

#: Bytes that stay free on the disk: the service may have its data there, and refuses mail without
RESERVE = 256 << 20
PARTIAL = ".partial"


def check_room(directory: Path, size: int = 0) -> None:
    """Raise OSError unless the disk has room for ``size`` bytes and the reserve."""
    if shutil.disk_usage(directory).free < size + RESERVE:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(directory))


def partial_of(path: Path) -> Path:
    """Return where a file is while it is written."""
    return path.with_name(path.name + PARTIAL)


@contextmanager
def new_file(path: Path) -> Iterator[BinaryIO]:
    """Give a file to write, which is at ``path`` after the block; nothing is if the block raises.

    Only its owner may read it. What a killed process left is overwritten. Raises
    :class:`BackupError` if ``path`` exists, or if somebody writes it at this moment.
    """
    partial = partial_of(path)
    descriptor = os.open(partial, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "r+b") as file:
        _take(path, partial, descriptor)
        try:
            if path.exists():
                raise BackupError(f"{path} exists: choose another name")
            os.fchmod(descriptor, 0o600)
            file.truncate()
            yield file
            file.flush()
            os.fsync(descriptor)
            partial.rename(path)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise
    synchronize(path.parent)


def _take(path: Path, partial: Path, descriptor: int) -> None:
    """Raise :class:`BackupError` if another process writes the file, or has just written it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(partial.stat(), os.fstat(descriptor)):
            return
    except (BlockingIOError, FileNotFoundError):
        pass
    raise BackupError(f"{path} is being written by another process")


@contextmanager
def temporary_beside(path: Path, suffix: str) -> Iterator[Path]:
    """Give an empty file beside ``path`` that is removed after the block."""
    temporary = path.with_name(path.name + suffix)
    temporary.unlink(missing_ok=True)
    os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    try:
        yield temporary
    finally:
        temporary.unlink(missing_ok=True)


def synchronize(directory: Path) -> None:
    """Bring the entries of a directory to the disk."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
