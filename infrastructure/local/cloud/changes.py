"""Encode changes of the local cloud's state for its log.

A change puts a value at a path or removes what is there, with all paths that begin so. The first
part of a path is its collection:

============ ============================================ =====================================
collection   rest of the path                             value
============ ============================================ =====================================
``document`` service, attribute, entry of the attribute   what MiniStack keeps, as its JSON
``item``     account, region, table, pk, sk               the item of a table, as JSON
``message``  account, region, queue URL, message id       the message, as JSON
``receipt``  account, region, queue URL, message id       what receiving changed in it, as JSON
``token``    account, region, token of a transaction      its digest and response, as JSON
============ ============================================ =====================================
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

NEVER = 0

# Between the parts of a path. What cannot be written so is JSON, which begins with a bracket.
_SEPARATOR = "\1"
_JSON = "["

_ENTRY = struct.Struct("<?IIQ")

# The path of a change, whether it removes, start and end of its value, and when that expires
Entry = tuple[tuple[str, ...], bool, int, int, int]


class Change(NamedTuple):
    """A value at a path, or no value for what is removed.

    ``expires`` is when an item expires, in seconds since the epoch.
    """

    path: tuple[str, ...]
    value: bytes | None
    expires: int = NEVER


def encode(change: Change) -> bytes:
    """Return the bytes of a change. They may be joined with those of others."""
    path = _encoded_path(change.path)
    value = change.value or b""
    removes = change.value is None
    return _ENTRY.pack(removes, len(path), len(value), change.expires) + path + value


def _encoded_path(path: tuple[str, ...]) -> bytes:
    text = _SEPARATOR.join(path)
    if text.count(_SEPARATOR) == len(path) - 1:
        # Half of a surrogate pair has no encoding
        with suppress(UnicodeEncodeError):
            return text.encode()
    return json.dumps(path, separators=(",", ":")).encode()


def decode(content: bytes, expired_before: float = NEVER) -> Iterator[Change]:
    """Yield the changes in ``content``, without values that expired before a time."""
    for path, removes, start, end, expires in entries(content, expired_before):
        yield Change(path, None if removes else content[start:end], expires)


def entries(content: bytes, expired_before: float = NEVER) -> Iterator[Entry]:
    """Yield where the changes in ``content`` have their values, but for those that expired."""
    offset = 0
    while offset < len(content):
        removes, path_length, value_length, expires = _ENTRY.unpack_from(content, offset)
        start = offset + _ENTRY.size
        middle = start + path_length
        offset = middle + value_length
        if NEVER < expires <= expired_before:
            continue
        text = content[start:middle].decode()
        parts = json.loads(text) if text[0] == _JSON else text.split(_SEPARATOR)
        yield tuple(parts), removes, middle, offset, expires
