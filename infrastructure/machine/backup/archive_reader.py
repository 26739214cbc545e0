"""Read the archive of a backup, and check every byte of it before anybody relies on it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryFile
from typing import Any, BinaryIO

from chalicelib.core import compression
from infrastructure.machine.backup import headers, layout
from infrastructure.machine.backup.archive_writer import CHUNK
from infrastructure.machine.backup.description import Description, read_description
from infrastructure.machine.backup.errors import DamagedArchive
from infrastructure.machine.backup.listing import Listing

_LARGEST_SMALL_FILE = 16 << 20


class ArchiveReader:
    """Reads the archive in ``file``; its description is read at once.

    Whoever writes what :meth:`files` yields must not use it before :meth:`check` has returned.
    All methods raise :class:`DamagedArchive`.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._source: Any = compression.reader(file)
        self._listing = Listing()
        with _readable():
            self._description = self._read_description()

    @property
    def description(self) -> Description:
        """What the archive is."""
        return self._description

    def files(self) -> Iterator[tuple[str, int, Iterator[bytes]]]:
        """Yield path, size and content of each file; the content must be read before the next."""
        with _readable():
            while (member := headers.read_header(self._source)) is not None:
                path, size = member
                if path == layout.LISTING:
                    self._check_listing(size)
                    return
                if not layout.is_restorable(path):
                    raise DamagedArchive(f"it has no place for {path[:200]!r}")
                yield path, size, self._content(path, size)
        raise DamagedArchive("it has no listing")

    @property
    def listing(self) -> Listing:
        """What was read."""
        return self._listing

    def _read_description(self) -> Description:
        member = headers.read_header(self._source)
        if member is None or member[0] != layout.DESCRIPTION or member[1] > CHUNK:
            raise DamagedArchive("it does not begin as a backup does")
        content = b"".join(self._content(*member))
        return read_description(content)

    def _content(self, path: str, size: int) -> Iterator[bytes]:
        digest, rest = hashlib.sha256(), size
        with _readable():
            while rest:
                chunk = headers.read_exactly(self._source, min(rest, CHUNK))
                digest.update(chunk)
                rest -= len(chunk)
                yield chunk
            headers.read_exactly(self._source, len(headers.padding(size)))
        self._listing.add(path, size, digest.hexdigest())

    def _check_listing(self, size: int) -> None:
        if size != self._listing.size:
            raise DamagedArchive("files are missing, or there are others than it lists")
        with TemporaryFile() as original:
            rest = size
            while rest:
                chunk = headers.read_exactly(self._source, min(rest, CHUNK))
                original.write(chunk)
                rest -= len(chunk)
            headers.read_exactly(self._source, len(headers.padding(size)))
            self._listing.compare(original)
        if self._source.read(len(headers.END) + 1) != headers.END:
            raise DamagedArchive("it does not end where it should")


def read_small(path: str, size: int, content: Iterator[bytes]) -> bytes:
    """Return the content of a small file; raises :class:`DamagedArchive` if it is large."""
    if size > _LARGEST_SMALL_FILE:
        raise DamagedArchive(f"{path} is too large")
    return b"".join(content)


@contextmanager
def _readable() -> Iterator[None]:
    """Raise :class:`DamagedArchive` for what the decompression finds."""
    try:
        yield
    except (compression.error_type(), EOFError) as error:
        raise DamagedArchive(str(error) or "it ends too early") from None
