"""Compress payloads that hold many similar messages, with Zstandard (RFC 8878).

Its window is as large as the payload. A window of 32 KB, as zlib's, does not reach from one message
of a newsletter to the next: zlib takes eight times as long for three times the size.
"""

from __future__ import annotations

import sys
import zlib
from functools import cache
from importlib import import_module
from typing import Any

_LEVEL = 1
_FRAME_START = b"\x28\xb5\x2f\xfd"


def compress(data: bytes, dictionary: bytes | None = None) -> bytes:
    """Return data compressed; a ``dictionary`` has text that the data is likely to have as well."""
    known_text = _dictionary(dictionary).as_digested_dict if dictionary else None
    compressed: bytes = _zstd().compress(data, _LEVEL, zstd_dict=known_text)
    return compressed


def decompress(data: bytes, dictionary: bytes | None = None) -> bytes:
    """Return the data that :func:`compress` or zlib compressed with this dictionary."""
    if data.startswith(_FRAME_START):
        known_text = _dictionary(dictionary) if dictionary else None
        original: bytes = _zstd().decompress(data, zstd_dict=known_text)
        return original
    if dictionary:
        return zlib.decompressobj(zdict=dictionary).decompress(data)
    return zlib.decompress(data)


@cache
def _dictionary(text: bytes) -> Any:
    return _zstd().ZstdDict(text, is_raw=True)


@cache
def _zstd() -> Any:
    # Imported at first use: 4 ms of a cold start
    in_library = sys.version_info >= (3, 14)
    return import_module("compression.zstd" if in_library else "backports.zstd")
