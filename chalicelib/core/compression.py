"""Compress payloads that hold many similar messages, with Zstandard (RFC 8878).

Its window is as large as the payload. A window of 32 KB, as zlib's, does not reach from one message
of a newsletter to the next: zlib takes eight times as long for three times the size.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib import import_module
from io import BytesIO
from typing import Any, BinaryIO

_LEVEL = 1
# A file is compressed once and kept for long
_FILE_LEVEL = 3
_FRAME_START = b"\x28\xb5\x2f\xfd"
_PIECE = 256 * 1024


def compress(data: bytes, dictionary: bytes | None = None) -> bytes:
    """Return data compressed; a ``dictionary`` has text that the data is likely to have as well."""
    known_text = _dictionary(dictionary).as_digested_dict if dictionary else None
    compressed: bytes = _zstd().compress(data, _LEVEL, zstd_dict=known_text)
    return compressed


def compress_pieces(data: Sequence[bytes]) -> Iterator[bytes]:
    """Yield the compressed form of what is large, which :func:`decompress` takes as well."""
    compressor = _zstd().ZstdCompressor(_LEVEL)
    compressor.set_pledged_input_size(sum(map(len, data)))
    for each in data:
        view = memoryview(each)
        for at in range(0, len(view), _PIECE):
            yield compressor.compress(view[at : at + _PIECE])
    yield compressor.flush()


def decompress_pieces(pieces: Iterable[bytes]) -> bytes:
    """Return what :func:`decompress` does, from pieces; they and the result are all it holds."""
    data = BytesIO()
    decompressor: Any = None
    for piece in pieces:
        if decompressor is None:
            is_frame = piece.startswith(_FRAME_START)
            decompressor = _zstd().ZstdDecompressor() if is_frame else zlib.decompressobj()
        data.write(decompressor.decompress(piece))
    if decompressor is None or not decompressor.eof:
        raise EOFError("the compressed data ends too early")
    return data.getvalue()


def decompress(data: bytes, dictionary: bytes | None = None) -> bytes:
    """Return the data that :func:`compress` or zlib compressed with this dictionary."""
    if data.startswith(_FRAME_START):
        known_text = _dictionary(dictionary) if dictionary else None
        original: bytes = _zstd().decompress(data, zstd_dict=known_text)
        return original
    if dictionary:
        return zlib.decompressobj(zdict=dictionary).decompress(data)
    return zlib.decompress(data)


def writer(file: BinaryIO) -> Any:
    """Return a file that writes into ``file`` compressed, with a checksum of the data at the end.

    Closing it leaves ``file`` open.
    """
    zstd = _zstd()
    options = {
        zstd.CompressionParameter.compression_level: _FILE_LEVEL,
        zstd.CompressionParameter.checksum_flag: 1,
    }
    return zstd.ZstdFile(file, "wb", options=options)


def reader(file: BinaryIO) -> Any:
    """Return a file that reads what :func:`writer` wrote.

    It raises EOFError where ``file`` ends too early, and :func:`error_type` where it is damaged.
    """
    return _zstd().ZstdFile(file, "rb")


def error_type() -> type[Exception]:
    """Return the type of the errors about damaged data."""
    error: type[Exception] = _zstd().ZstdError
    return error


@cache
def _dictionary(text: bytes) -> Any:
    return _zstd().ZstdDict(text, is_raw=True)


@cache
def _zstd() -> Any:
    # Imported at first use: 4 ms of a cold start
    in_library = sys.version_info >= (3, 14)
    return import_module("compression.zstd" if in_library else "backports.zstd")
