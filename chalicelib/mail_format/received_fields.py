"""Read the header fields of a message from a stranger, however broken they are.

Nothing here raises or takes more than linear time. What is beyond the limits is left out.
"""

from __future__ import annotations

import re
from typing import Final

from chalicelib.mail_format.encoded_words import readable

MOST_BYTES: Final = 64 * 1024
MOST_FIELDS: Final = 500

_FOLD = re.compile(r"\n[ \t]+")
_FIELD_NAME = re.compile(r"[!-9;-~]+")


class Fields:
    """The fields of a header section, in order; values without folding, not decoded."""

    __slots__ = ("_fields", "as_written")

    def __init__(
        self, section: bytes, most_bytes: int = MOST_BYTES, most_fields: int = MOST_FIELDS
    ) -> None:
        text = _FOLD.sub(" ", newlines(section[:most_bytes]).decode("utf-8", "replace"))
        lines = (line.partition(":") for line in text.split("\n", most_fields)[:most_fields])
        self.as_written = [
            (name.strip(), value.strip())
            for name, colon, value in lines
            if colon and _FIELD_NAME.fullmatch(name.strip())
        ]
        self._fields = [(name.lower(), value) for name, value in self.as_written]

    def __contains__(self, name: str) -> bool:
        return any(name == each for each, _ in self._fields)

    def __bool__(self) -> bool:
        return bool(self._fields)

    def first(self, name: str) -> str:
        """Return the first value under a name in lower case, empty if there is none."""
        return next((value for each, value in self._fields if each == name), "")

    def all(self, name: str) -> list[str]:
        """Return every value under a name in lower case."""
        return [value for each, value in self._fields if each == name]

    def words(self, name: str) -> str:
        """Return the first value with its encoded words (RFC 2047) decoded as far as possible."""
        return readable(self.first(name))

    def values(self) -> list[str]:
        """Return all values."""
        return [value for _, value in self._fields]


def newlines(data: bytes) -> bytes:
    """Return data with LF as its only line end."""
    return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
