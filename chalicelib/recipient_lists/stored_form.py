"""Encode recipients in their stored form (``recipients``), each of them once.

A recipient is encoded as soon as it was checked. What stores or queues recipients puts the encoded
ones together, so that a large request is not encoded again for its limits and for its chunks.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from pydantic_core import to_json

from chalicelib.core.json_types import Json

_decoder = json.JSONDecoder()


def encode(recipient: Json) -> bytes:
    """Return a recipient as JSON."""
    return to_json(recipient)


def decode(encoded: bytes) -> Json:
    """Return the recipient that :func:`encode` was given."""
    return json.loads(encoded)


def join(encoded: Iterable[bytes]) -> bytes:
    """Return encoded recipients as one JSON array."""
    return b"[%b]" % b",".join(encoded)


def iterate(array: bytes) -> Iterator[bytes]:
    """Yield the encoded recipients of an array, of which only one at a time is decoded.

    Objects take up to 25 times the memory of their JSON, and a caller chooses the JSON.
    """
    text, start = array.decode(), 1
    while start < len(text) - 1:
        _, end = _decoder.raw_decode(text, start)
        yield text[start:end].encode()
        start = end + len(",")


def split(array: bytes) -> list[Json]:
    """Return the recipients of an array that :func:`join` returned."""
    return json.loads(array)
