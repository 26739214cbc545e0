"""Decode the bodies of parts from strangers in pieces, however broken they are.

A body may have any size: no more than a piece of it is in memory. Nothing here raises or takes more
than linear time.
"""

from __future__ import annotations

import codecs
import re
from binascii import a2b_base64, a2b_qp
from collections.abc import Iterable, Iterator
from typing import Final

from chalicelib.core.spool import Octets, pieces_of
from chalicelib.mail_format.charsets import charset

_PADDING = re.compile(rb"=+")
_DIGITS: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_NO_DIGITS: Final = bytes(set(range(256)).difference(_DIGITS))
_NO_DIGITS_OR_PADDING: Final = bytes(set(_NO_DIGITS).difference(b"="))


def transfer_encoding(value: str) -> str:
    """Return the transfer encoding that a header field names, in lower case."""
    return value.lower().strip(" ;\"'")


def decoded(octets: Octets, start: int, end: int, encoding: str) -> Iterator[bytes]:
    """Yield the content of a body without its transfer encoding."""
    pieces = pieces_of(octets, start, end)
    if encoding == "base64":
        return _from_base64(pieces)
    return _from_quoted_printable(pieces) if encoding == "quoted-printable" else pieces


def decoded_size(octets: Octets, start: int, end: int, encoding: str) -> int:
    """Return the size of what :func:`decoded` yields; base64 is only counted."""
    if encoding == "base64":
        return _size_of_base64(pieces_of(octets, start, end))
    if encoding == "quoted-printable":
        return sum(map(len, decoded(octets, start, end, encoding)))
    return end - start


def text_of(octets: Octets, start: int, end: int, encoding: str, label: str, most: int) -> str:
    """Return at most ``most`` octets of a body as text, with LF line ends.

    The charset is the one that ``label`` names, else UTF-8, else Latin letters of Windows.
    """
    content = bytearray()
    for piece in decoded(octets, start, end, encoding):
        content += piece
        if len(content) > most:
            break
    text = _in_charset(bytes(content[:most]), label, is_whole=len(content) <= most)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def from_base64(body: bytes) -> bytes:
    """Decode base64 that may be cut short, with junk in it, or in several pieces."""
    return b"".join(_from_base64([body]))


def _from_base64(pieces: Iterable[bytes]) -> Iterator[bytes]:
    digits = b""
    for piece in pieces:
        *ended, rest = _PADDING.split(piece) if b"=" in piece else [piece]
        for each in ended:
            yield _of_digits(digits + each.translate(None, _NO_DIGITS))
            digits = b""
        digits += rest.translate(None, _NO_DIGITS)
        usable = len(digits) - len(digits) % 4
        yield a2b_base64(digits[:usable])
        digits = digits[usable:]
    yield _of_digits(digits)


def _of_digits(digits: bytes) -> bytes:
    usable = digits[:-1] if len(digits) % 4 == 1 else digits  # one digit alone is no byte
    return a2b_base64(usable + b"=" * (-len(usable) % 4))


def _size_of_base64(pieces: Iterable[bytes]) -> int:
    size = digits = 0
    for piece in pieces:
        clean = piece.translate(None, _NO_DIGITS_OR_PADDING)
        *ended, rest = _PADDING.split(clean) if b"=" in clean else [clean]
        for each in ended:
            size += (digits + len(each)) * 3 // 4
            digits = 0
        digits += len(rest)
    return size + digits * 3 // 4


def _from_quoted_printable(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Decode up to the last line end of each piece: no escape reaches over it but its own."""
    rest = b""
    for piece in pieces:
        octets = rest + piece
        line_end = octets.rfind(b"\n") + 1
        # A line longer than a piece is cut where no escape is
        cut = line_end or max(len(octets) - 2, 0)
        if not line_end and (escape := octets.rfind(b"=", max(cut - 2, 0), cut)) >= 0:
            cut = escape
        yield a2b_qp(octets[:cut])
        rest = octets[cut:]
    yield a2b_qp(rest)


def _in_charset(data: bytes, label: str, *, is_whole: bool) -> str:
    for name in (label, "utf-8"):
        try:
            decoder = codecs.getincrementaldecoder(charset(name))()
            return decoder.decode(data, final=is_whole)
        except (LookupError, ValueError):
            continue
    return data.decode("cp1252", "replace")
