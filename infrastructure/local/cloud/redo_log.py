"""Append records to a file that is complete whenever its process is killed, and read them again.

A file starts with a header: eight bytes for its kind, and the *mark*, a number of bytes. Records
follow, each with its length and the CRC-32 of its content, and then zeros: room for more records,
so that a full disk shows before something is applied that could not be written.

A record that was written survives the end of the process, and of the machine once the mark is
behind it: the mark says how many bytes are synchronized with the disk. What cannot be read before
the mark is damage. What cannot be read behind it is the end of the log: a record that was cut off
when the process was killed, or that a power failure has kept from the disk.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

LOG_KIND = b"PFREDO1\n"
BASE_KIND = b"PFBASE2\n"
# Of version 0.1.0: a base whose records are changes, like those of a log (goes with 0.3.0)
EARLIER_BASE_KIND = b"PFBASE1\n"

_HEADER = struct.Struct("<8sQ")
_RECORD = struct.Struct("<II")
#: What is before the content of each record, and where the first content begins
PREFIX_SIZE = _RECORD.size
FIRST_CONTENT = _HEADER.size + PREFIX_SIZE
_MARK_OFFSET = 8
# Room is made in steps of this size
_STEP = 4 << 20
_ZEROS = bytes(1 << 16)


class DamagedState(Exception):
    """A file of the state cannot be used; the message is one line for the user."""

    def __init__(self, path: Path, what: str) -> None:
        super().__init__(
            f"{path} {what}. Nothing was changed. Restore the file from a copy, or move "
            f"{path.parent} away to start without what is stored there."
        )


class RedoLog:
    """A log that records are appended to."""

    def __init__(self, path: Path, end: int) -> None:
        self.path = path
        self.end = end
        # Closed when nobody uses the log any more, which a thread may do that synchronizes it
        self._file = path.open("r+b", buffering=0)
        self._descriptor = self._file.fileno()
        self._room_end = os.fstat(self._descriptor).st_size
        self._mark = 0

    @classmethod
    def create(cls, path: Path) -> RedoLog:
        """Create an empty log at ``path``, or nothing at all."""
        incomplete_path = path.with_suffix(".new")
        incomplete_path.write_bytes(_HEADER.pack(LOG_KIND, _HEADER.size))
        sync(incomplete_path)
        incomplete_path.replace(path)
        sync(path.parent)
        return cls(path, _HEADER.size)

    @classmethod
    def reopen(cls, path: Path, end: int) -> RedoLog:
        """Open the log at ``path`` to go on at ``end``; removes what is behind it."""
        os.truncate(path, end)
        return cls(path, end)

    def make_room(self, size: int) -> None:
        """Make sure that ``size`` bytes can be appended; raises OSError."""
        if self.end + size > self._room_end:
            room_end = self.end + size + _STEP
            allocate(self._descriptor, self._room_end, room_end)
            self._room_end = room_end

    def append(self, content: bytes) -> None:
        """Write one record with ``content``; raises OSError and writes nothing."""
        record = _RECORD.pack(len(content), zlib.crc32(content)) + content
        self.make_room(len(record))
        try:
            write_fully(self._descriptor, record, self.end)
        except OSError:
            os.ftruncate(self._descriptor, self.end)
            self._room_end = self.end
            raise
        self.end += len(record)

    @property
    def is_synchronized(self) -> bool:
        """Tell whether all records would survive the end of the machine."""
        return self._mark == self.end

    def synchronize(self) -> None:
        """Write all records to the disk, then the mark. May run in a thread of its own."""
        end = self.end
        synchronize_data(self._descriptor)
        write_fully(self._descriptor, struct.pack("<Q", end), _MARK_OFFSET)
        self._mark = end

    def seal(self) -> None:
        """Synchronize the records and the mark, after the last record."""
        self.synchronize()
        synchronize_data(self._descriptor)


def write_base(path: Path, contents: Iterable[bytes]) -> None:
    """Write a file of records that is at ``path`` only when it is complete and on the disk."""
    incomplete_path = path.with_suffix(".new")
    with incomplete_path.open("wb", buffering=1 << 20) as file:
        file.write(_HEADER.pack(BASE_KIND, 0))
        for content in contents:
            file.write(_RECORD.pack(len(content), zlib.crc32(content)))
            file.write(content)
        end = file.tell()
        file.seek(_MARK_OFFSET)
        file.write(struct.pack("<Q", end))
    sync(incomplete_path)
    incomplete_path.replace(path)
    sync(path.parent)


class Records:
    """The contents of the records of a file, oldest first.

    Iterating raises :class:`DamagedState`. ``end`` is where the next record would begin.
    """

    def __init__(self, path: Path, kind: bytes, complete: bool) -> None:
        self.end = _HEADER.size
        self._path = path
        self._kind = kind
        # Whether nothing but records and room may be in the file
        self._complete = complete

    def __iter__(self) -> Iterator[bytes]:
        try:
            with self._path.open("rb", buffering=1 << 20) as file:
                size = os.fstat(file.fileno()).st_size
                header = file.read(_HEADER.size)
                if len(header) < _HEADER.size or not header.startswith(self._kind):
                    raise DamagedState(self._path, "is not a state file of this version")
                _, mark = _HEADER.unpack(header)
                while prefix := file.read(_RECORD.size):
                    length, checksum = _RECORD.unpack(prefix.ljust(_RECORD.size, b"\0"))
                    if not length or length > size - self.end - _RECORD.size:
                        break
                    content = file.read(length)
                    if len(content) < length or zlib.crc32(content) != checksum:
                        break
                    self.end += _RECORD.size + length
                    yield content
                self._check_end(mark, size)
        except OSError as error:
            raise DamagedState(self._path, f"cannot be read ({error.strerror})") from None

    def _check_end(self, mark: int, size: int) -> None:
        if self.end < mark or (self._complete and self.end != mark):
            raise DamagedState(self._path, f"is damaged at byte {self.end} of {size}")


def kind_of(path: Path) -> bytes:
    """Return the first bytes of a file, which tell its kind; raises :class:`DamagedState`."""
    try:
        with path.open("rb") as file:
            return file.read(len(BASE_KIND))
    except OSError as error:
        raise DamagedState(path, f"cannot be read ({error.strerror})") from None


def write_fully(descriptor: int, data: bytes, offset: int) -> None:
    """Write all of ``data``, however little each system call takes; raises OSError."""
    view = memoryview(data)
    while view:
        count = os.pwrite(descriptor, view, offset)
        view, offset = view[count:], offset + count


def allocate(descriptor: int, start: int, end: int) -> None:
    """Let the file have zeros on the disk from ``start`` to ``end``; raises OSError."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(descriptor, start, end - start)
        return
    for offset in range(start, end, len(_ZEROS)):
        write_fully(descriptor, _ZEROS[: end - offset], offset)


def sync(path: Path) -> None:
    """Write a file or directory to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def synchronize_data(descriptor: int) -> None:
    """Write the contents of a file to the disk."""
    getattr(os, "fdatasync", os.fsync)(descriptor)
