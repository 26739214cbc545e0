"""Write JSON into a spool in pieces, so that a large value is never in memory at once.

The JSON is that of :func:`json.dumps` without spaces, in UTF-8.
"""

from __future__ import annotations

import base64
import codecs
import json
from collections.abc import Iterable
from json.encoder import encode_basestring
from typing import Any

from chalicelib.core.spool import Octets, Spool, pieces_of


class JsonWriter:
    """Writes one value; the caller writes the punctuation between its parts (:meth:`raw`)."""

    def __init__(self, spool: Spool) -> None:
        self._spool = spool

    def raw(self, text: str) -> None:
        """Write JSON as it is."""
        self._spool.write(text.encode())

    def value(self, value: Any) -> None:
        """Write a value that is in memory.

        It is written in ASCII: texts that strangers decide may hold half a surrogate pair.
        """
        self._spool.write(json.dumps(value, separators=(",", ":")).encode())

    def fields(self, values: dict[str, Any], *, is_first: bool = False) -> None:
        """Write fields of an object, after others unless ``is_first``."""
        for name, value in values.items():
            self.raw(("" if is_first else ",") + json.dumps(name) + ":")
            self.value(value)
            is_first = False

    def utf8(self, octets: Octets) -> None:
        """Write octets as a text; they must be UTF-8 (:func:`is_utf8`)."""
        decoder = codecs.getincrementaldecoder("utf-8")()
        self._spool.write(b'"')
        for piece in pieces_of(octets):
            text = encode_basestring(decoder.decode(piece))
            self._spool.write(text[1:-1].encode())
        decoder.decode(b"", final=True)
        self._spool.write(b'"')

    def base64(self, pieces: Iterable[bytes]) -> None:
        """Write octets, which come in pieces of any size, as a text in base64."""
        self._spool.write(b'"')
        rest = b""
        for piece in pieces:
            rest += piece
            end = len(rest) - len(rest) % 3
            self._spool.write(base64.b64encode(rest[:end]))
            rest = rest[end:]
        self._spool.write(base64.b64encode(rest) + b'"')


def is_utf8(octets: Octets) -> bool:
    """Tell whether octets are UTF-8 (RFC 3629)."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for piece in pieces_of(octets):
            decoder.decode(piece)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True
