"""Limit the text and data of a request, in bytes (spec 2.1, 8)."""

from __future__ import annotations

import json

from chalicelib.core.errors import (
    ServiceError,
    bad_format,
    metadata_too_large,
    substitution_data_too_large,
)
from chalicelib.core.json_types import Json

METADATA_BYTES = 10 * 1024
SUBSTITUTION_BYTES = 100_000

# Made once: there are two objects for each recipient
_shortest = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode


def check_length(name: str, text: str | None, most: int) -> None:
    """Raise 1300 if ``text`` has more than ``most`` bytes."""
    if text is not None and (length := len(text.encode("utf-8", "surrogatepass"))) > most:
        raise bad_format(f"field '{name}' has length '{length}', but max length is '{most}'")


def too_large_data(metadata: Json | None, substitution_data: Json | None) -> ServiceError | None:
    """Return the error for metadata or substitution data over its limit, if there is one."""
    if metadata and size(metadata) > METADATA_BYTES:
        text = f"metadata exceeds the maximum of {METADATA_BYTES} bytes"
        return metadata_too_large(text)
    if substitution_data and size(substitution_data) > SUBSTITUTION_BYTES:
        text = f"substitution_data exceeds the maximum of {SUBSTITUTION_BYTES} bytes"
        return substitution_data_too_large(text)
    return None


def size(data: Json) -> int:
    """Return the bytes of the shortest JSON for ``data``; white space of the request is free."""
    return len(_shortest(data).encode())
