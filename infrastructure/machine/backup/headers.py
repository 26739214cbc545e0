"""Write and read the headers of a tar archive, without the forms of tar that backups do not have.

Python's ``tarfile`` reads a member's extended header as a whole, however large an archive says that
it is. Here a member is a file, and a long name has an end. `tar --zstd -tf` lists such an archive.
"""

from __future__ import annotations

import tarfile
from tarfile import GNU_FORMAT, GNUTYPE_LONGNAME, REGTYPE, TarInfo
from typing import BinaryIO

from infrastructure.machine.backup.errors import DamagedArchive

BLOCK = tarfile.BLOCKSIZE
END = bytes(2 * BLOCK)
_LONGEST_NAME = 4096
_LARGEST = 1 << 50


def header(name: str, size: int, time: float) -> bytes:
    """Return the header of a file of ``size`` bytes that was changed at ``time``."""
    member = TarInfo(name)
    member.size, member.mtime, member.mode = size, int(time), 0o600
    return member.tobuf(GNU_FORMAT)


def padding(size: int) -> bytes:
    """Return what follows the content of a file of ``size`` bytes."""
    return bytes(-size % BLOCK)


def read_header(file: BinaryIO) -> tuple[str, int] | None:
    """Return the name and the size of the next file, or ``None`` at the archive's end.

    Raises :class:`DamagedArchive`.
    """
    block = read_exactly(file, BLOCK)
    if block == bytes(BLOCK):
        return None
    member = _member(block)
    name = member.name
    if member.type == GNUTYPE_LONGNAME:
        if not 0 < member.size <= _LONGEST_NAME:
            raise DamagedArchive("a name is too long")
        text = read_exactly(file, member.size + len(padding(member.size)))[: member.size]
        name = text.rstrip(b"\0").decode(errors="replace")
        member = _member(read_exactly(file, BLOCK))
    if member.type != REGTYPE or not 0 <= member.size <= _LARGEST:
        raise DamagedArchive(f"{name[:200]!r} is not a file")
    return name, member.size


def read_exactly(file: BinaryIO, size: int) -> bytes:
    """Return the next ``size`` bytes; raises :class:`DamagedArchive` if there are fewer."""
    content = file.read(size)
    if len(content) != size:
        raise DamagedArchive("it ends too early")
    return content


def _member(block: bytes) -> TarInfo:
    try:
        return TarInfo.frombuf(block, "utf-8", "replace")
    except (tarfile.HeaderError, ValueError):
        raise DamagedArchive("a header cannot be read") from None
