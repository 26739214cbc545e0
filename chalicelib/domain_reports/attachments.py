"""Get a report out of the message that carries it: an attachment, mostly compressed.

Attachments come from strangers, so what they grow to is limited.
"""

from __future__ import annotations

import lzma
import zipfile
import zlib
from io import BytesIO

from chalicelib.domain_reports.model import UnreadableReport

MOST_BYTES = 8 * 1024 * 1024
"""Bytes that a report may have when it is unpacked."""

_GZIP, _ZIP = b"\x1f\x8b", b"PK\x03\x04"
_GZIP_HEADER = 16 + zlib.MAX_WBITS

#: What a damaged archive raises depends on where it is damaged, and on its compression
_DAMAGED = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError),
    *(OSError, EOFError, IndexError, ValueError),
)


def unpack(data: bytes) -> bytes:
    """Return what a gzip or zip file holds, or ``data`` if it is neither.

    Of a zip file it is the first member. Raises :class:`UnreadableReport` if the file is damaged or
    holds more than ``MOST_BYTES``.
    """
    if data.startswith(_GZIP):
        return _gunzip(data)
    return _unzip(data) if data.startswith(_ZIP) else data


def _gunzip(data: bytes) -> bytes:
    unpacker = zlib.decompressobj(_GZIP_HEADER)
    try:
        content = unpacker.decompress(data, MOST_BYTES)
    except zlib.error as error:
        raise UnreadableReport(f"its gzip file is damaged: {error}") from error
    if not unpacker.eof:
        raise UnreadableReport("its gzip file is too large or cut short")
    return content


def _unzip(data: bytes) -> bytes:
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive, archive.open(archive.namelist()[0]) as file:
            content = file.read(MOST_BYTES + 1)
    except _DAMAGED as error:
        raise UnreadableReport(f"its zip file is damaged: {error}") from error
    except (NotImplementedError, RuntimeError) as error:
        raise UnreadableReport(f"its zip file cannot be read: {error}") from error
    if len(content) > MOST_BYTES:
        raise UnreadableReport("its zip file is too large")
    return content
