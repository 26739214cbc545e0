"""Pack a JSON head and several byte strings into one byte string, and unpack them.

Messages are bytes in no particular encoding, so they do not fit JSON; base64 would make them a
third larger and copy them. The form is: length of the head (4 bytes, big-endian), head, bodies end
to end; the head holds the lengths of the bodies.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from chalicelib.core import compact_json


def pack(head: Any, bodies: Sequence[bytes] = ()) -> bytes:
    """Return ``head`` (JSON) and ``bodies`` as one byte string."""
    return b"".join(pieces(head, [[body] for body in bodies]))


def pieces(head: Any, bodies: Sequence[Sequence[bytes]] = ()) -> list[bytes]:
    """Return the pieces of the same byte string; each body is in pieces, which are not copied."""
    sizes = [sum(map(len, body)) for body in bodies]
    text = compact_json.dumps({"head": head, "sizes": sizes})
    return [len(text).to_bytes(4, "big"), text, *(piece for body in bodies for piece in body)]


def unpack(data: bytes) -> tuple[Any, list[bytes]]:
    """Return the head and the bodies that :func:`pack` was given."""
    start = 4 + int.from_bytes(data[:4], "big")
    text = compact_json.loads(data[4:start])
    bodies = []
    for size in text["sizes"]:
        bodies.append(data[start : start + size])
        start += size
    return text["head"], bodies
