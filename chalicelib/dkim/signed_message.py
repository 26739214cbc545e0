"""Read a received message as DKIM and ARC need it: its header fields, and hashes of its body."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import Final

from chalicelib.core.spool import Octets
from chalicelib.dkim.signed_body import BodyHash, hash_body

LONGEST_HEAD: Final = 256 * 1024
MOST_FIELDS: Final = 2_000
"""Octets and fields of a header section that is verified."""

_BLANK_LINE: Final = b"\r\n\r\n"
_FIELD_END: Final = re.compile(rb"\r\n(?![ \t])")
_RUN: Final = re.compile(rb"[ \t]+")
_BLANKS: Final = b" \t"


class HeaderField:
    """One header field: its name in lower case, and its octets without the last CRLF."""

    def __init__(self, raw: bytes) -> None:
        self.raw = raw
        self.name = raw.partition(b":")[0].rstrip(_BLANKS).lower()

    @property
    def value(self) -> bytes:
        """Return what follows the colon, as it is written."""
        return self.raw.partition(b":")[2]

    def canonical(self, *, is_relaxed: bool) -> bytes:
        """Return the field as it is signed, with its CRLF (RFC 6376 3.4.1 and 3.4.2)."""
        return self.relaxed if is_relaxed else self.raw + b"\r\n"

    @cached_property
    def relaxed(self) -> bytes:
        """Return the field in its relaxed form, with its CRLF."""
        return relaxed_field(self.name, self.value)


def relaxed_field(name: bytes, value: bytes) -> bytes:
    """Return a field in its relaxed form, with its CRLF; the name is in lower case."""
    unfolded = value.replace(b"\r\n", b"")
    return b"%s:%s\r\n" % (name, _RUN.sub(b" ", unfolded).strip(b" "))


class SignedMessage:
    """A message with CRLF line ends, of any size.

    ``is_too_large`` says that the header section is beyond the limits; then there are no fields.
    """

    def __init__(self, octets: Octets) -> None:
        self._octets = octets
        self._hashes: dict[tuple[bool, int | None], BodyHash] = {}
        self.fields, self._body_start = _read_head(octets)
        self.is_too_large = self._body_start < 0

    def fields_with(self, name: bytes) -> Iterator[HeaderField]:
        """Yield the fields with a name, which is in lower case, from the first one on."""
        return (field for field in self.fields if field.name == name)

    def hash_body(self, *, is_relaxed: bool, length: int | None) -> BodyHash:
        """Hash the body, once for each form and length."""
        key = is_relaxed, length
        if key not in self._hashes:
            self._hashes[key] = hash_body(
                self._octets, self._body_start, is_relaxed=is_relaxed, length=length
            )
        return self._hashes[key]


def _read_head(octets: Octets) -> tuple[tuple[HeaderField, ...], int]:
    """Return the fields, and where the body begins, -1 if the head is too large."""
    if octets[:2] == b"\r\n":
        return (), 2
    end = octets.find(_BLANK_LINE, 0, LONGEST_HEAD)
    body_start = end + len(_BLANK_LINE)
    if end < 0:
        end = body_start = len(octets)
    if end > LONGEST_HEAD:
        return (), -1
    head = octets[:end].removesuffix(b"\r\n")
    lines = _FIELD_END.split(head, MOST_FIELDS) if head else []
    if len(lines) > MOST_FIELDS:
        return (), -1
    return tuple(map(HeaderField, lines)), body_start
