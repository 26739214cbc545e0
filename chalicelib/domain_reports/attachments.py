"""Get reports out of the message that carries them: attachments, mostly compressed.

Attachments come from strangers, so what all of them together grow to is limited. Reporters pack
them in many ways: a gzip file may have several members and a rest that is no gzip, a zip file may
have folders and a readme, and one may hold the other. Names and types say nothing reliable.
"""

from __future__ import annotations

import lzma
import zipfile
import zlib
from binascii import Error, a2b_base64
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from zipfile import ZipFile, ZipInfo

from chalicelib.domain_reports import deflate64
from chalicelib.domain_reports.model import UnreadableReport

MOST_BYTES = 8 * 1024 * 1024
"""Bytes that the reports of a message may have when they are unpacked."""

_MOST_MEMBERS = 1_000
_DEEPEST = 3
_PIECE = 65_536
_BLANKS = b" \t\r\n"
_GZIP, _ZIP, _ZIP_ENTRY = b"\x1f\x8b", b"PK", b"PK\x01\x02"
_SIZE_OF_HEADER = 30
_GZIP_HEADER = 16 + zlib.MAX_WBITS
_NAMES = (".xml", ".json", ".gz", ".zip")

#: How gzip, zip, XML and JSON begin in base64, which the header of a part may conceal
_BASE64 = (b"H4sI", b"UEs", b"PD9", b"PGZ", b"77u/PD9", b"eyJ", b"ewo", b"ew0")

#: What a damaged archive raises depends on where it is damaged, and on its compression
_DAMAGED = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError),
    *(OSError, EOFError, IndexError, ValueError),
)
_UNSUPPORTED = (NotImplementedError, RuntimeError)


class Unpacker:
    """Unpacks the attachments of one message, up to ``MOST_BYTES`` of them in all.

    ``problems`` says what could not be unpacked.
    """

    def __init__(self) -> None:
        self.problems: list[str] = []
        self._bytes_left = MOST_BYTES

    def contents(self, data: bytes, depth: int = 1) -> Iterator[bytes]:
        """Yield what a file holds, or the file itself if it is not packed."""
        data = data.lstrip(_BLANKS)
        if data.startswith(_BASE64):
            data = _from_base64(data)
        if depth > _DEEPEST or not data.startswith((_GZIP, _ZIP)):
            yield data
            return
        unpacked = self._gunzipped(data) if data.startswith(_GZIP) else self._unzipped(data)
        for content in unpacked:
            yield from self.contents(content, depth + 1)

    def _gunzipped(self, data: bytes) -> Iterator[bytes]:
        """Yield the content of all members; what follows them is ignored."""
        with self._problems_of("its gzip file"):
            yield b"".join(list(self._gzip_pieces(data)))

    def _gzip_pieces(self, data: bytes) -> Iterator[bytes]:
        position = 0
        for _ in range(_MOST_MEMBERS):
            if not data.startswith(_GZIP, position):
                return
            unpacker = zlib.decompressobj(_GZIP_HEADER)
            while not unpacker.eof and position < len(data):
                packed = data[position : position + _PIECE]
                yield self._counted(unpacker.decompress(packed, self._bytes_left + 1))
                position += len(packed) - len(unpacker.unused_data)

    def _unzipped(self, data: bytes) -> Iterator[bytes]:
        """Yield the contents of all files that look like reports, then those of others."""
        if data.count(_ZIP_ENTRY) > _MOST_MEMBERS:
            self.problems.append("its zip file has too many files")
            return
        with self._problems_of("its zip file"), ZipFile(BytesIO(data)) as archive:
            members = [each for each in archive.infolist() if not each.is_dir()]
            for member in sorted(members, key=_looks_like_no_report):
                with self._problems_of("a file in its zip file"):
                    yield self._member(archive, data, member)

    def _member(self, archive: ZipFile, data: bytes, member: ZipInfo) -> bytes:
        if member.compress_type == deflate64.METHOD:
            return self._counted(deflate64.unpack(_packed(data, member)))
        with archive.open(member) as file:
            return self._counted(file.read(self._bytes_left + 1))

    @contextmanager
    def _problems_of(self, file: str) -> Iterator[None]:
        """Note why a file cannot be unpacked, instead of raising it."""
        try:
            yield
        except UnreadableReport as error:
            self.problems.append(f"{file} is {error}")
        except _UNSUPPORTED as error:
            self.problems.append(f"{file} cannot be read: {error}")
        except _DAMAGED as error:
            self.problems.append(f"{file} is damaged: {error}")

    def _counted(self, content: bytes) -> bytes:
        self._bytes_left -= len(content)
        if self._bytes_left < 0:
            self._bytes_left = 0
            raise UnreadableReport("too large")
        return content


def _looks_like_no_report(member: ZipInfo) -> bool:
    name = member.filename.lower()
    return not name.endswith(_NAMES) or name.startswith("__macosx/")


def _packed(data: bytes, member: ZipInfo) -> bytes:
    """Return the packed content of a member of a zip file (APPNOTE.TXT 4.3.7)."""
    start = member.header_offset + _SIZE_OF_HEADER
    lengths = data[start - 4 : start]
    start += int.from_bytes(lengths[:2], "little") + int.from_bytes(lengths[2:], "little")
    return data[start : start + member.compress_size]


def _from_base64(data: bytes) -> bytes:
    try:
        return a2b_base64(data)
    except Error:
        return data
