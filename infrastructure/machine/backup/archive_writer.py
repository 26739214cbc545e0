"""Write the archive of a backup: a compressed tar file with a listing of all files at its end."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

from chalicelib.core import compression
from infrastructure.machine.backup import headers, layout
from infrastructure.machine.backup.description import Description
from infrastructure.machine.backup.errors import BackupError
from infrastructure.machine.backup.listing import Listing
from infrastructure.machine.backup.passphrase import SecretBox

CHUNK = 1 << 20


class ArchiveWriter:
    """Writes into ``file`` what it is given; secrets are sealed by ``box``, if there is one."""

    def __init__(self, file: BinaryIO, description: Description, box: SecretBox | None) -> None:
        self._compressor: Any = compression.writer(file)
        self._time = description.time
        self._box = box
        self.listing = Listing()
        self._add(layout.DESCRIPTION, description.to_json())

    def add(self, path: str, content: bytes) -> None:
        """Add a small file."""
        if self._box and layout.is_secret(path):
            content = self._box.seal(path, content)
        self._add(path, content)

    def add_file(self, path: str, file: BinaryIO, size: int) -> Iterator[int]:
        """Add the first ``size`` bytes of a file; yield how many more are written.

        Raises :class:`BackupError` if it has fewer.
        """
        yield from self._write(path, size, _chunks(path, file, size))

    def finish(self) -> None:
        """Write the listing and the end."""
        self._compressor.write(headers.header(layout.LISTING, self.listing.size, self._time))
        for line in self.listing.lines():
            self._compressor.write(line)
        self._compressor.write(headers.padding(self.listing.size) + headers.END)
        self._compressor.close()

    def _add(self, path: str, content: bytes) -> None:
        for _ in self._write(path, len(content), [content]):
            pass

    def _write(self, path: str, size: int, chunks: Iterable[bytes]) -> Iterator[int]:
        digest = hashlib.sha256()
        self._compressor.write(headers.header(path, size, self._time))
        for chunk in chunks:
            digest.update(chunk)
            self._compressor.write(chunk)
            yield len(chunk)
        self._compressor.write(headers.padding(size))
        self.listing.add(path, size, digest.hexdigest())


def _chunks(path: str, file: BinaryIO, size: int) -> Iterator[bytes]:
    rest = size
    while rest:
        chunk = file.read(min(rest, CHUNK))
        if not chunk:
            raise BackupError(f"{path} became shorter while it was read")
        rest -= len(chunk)
        yield chunk
