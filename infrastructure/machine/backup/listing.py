"""List the files of an archive with their sizes and SHA-256 digests, in the order of the archive.

The listing is the archive's last member. Whoever reads the archive makes the same listing of what
was read, and compares the two line by line. Neither is in memory as a whole.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import zip_longest
from tempfile import SpooledTemporaryFile
from typing import IO

from infrastructure.machine.backup.errors import DamagedArchive

_IN_MEMORY = 1 << 20


class Listing:
    """A JSON line a file; ``size`` is that of all lines."""

    def __init__(self) -> None:
        self._file: IO[bytes] = SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115
        self.size = 0
        #: The number of files, and of their bytes
        self.files = self.bytes = 0

    def add(self, path: str, size: int, digest: str) -> None:
        """Add a file of ``size`` bytes with this SHA-256 digest (hexadecimal)."""
        line = json.dumps({"path": path, "size": size, "sha256": digest}).encode() + b"\n"
        self._file.write(line)
        self.size += len(line)
        self.files += 1
        self.bytes += size

    def lines(self) -> Iterator[bytes]:
        """Yield the lines."""
        self._file.seek(0)
        yield from self._file

    def compare(self, original: IO[bytes]) -> None:
        """Raise :class:`DamagedArchive` unless the ``original`` listing is the same."""
        original.seek(0)
        for line, expected_line in zip_longest(self.lines(), original):
            if line != expected_line:
                raise DamagedArchive(f"{_name(line or expected_line)} does not match its listing")

    def close(self) -> None:
        """Forget the lines."""
        self._file.close()


def _name(line: bytes) -> str:
    try:
        return repr(json.loads(line)["path"])[:200]
    except (ValueError, TypeError, KeyError, RecursionError):
        return "a file"
