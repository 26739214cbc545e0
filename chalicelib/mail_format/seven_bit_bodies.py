"""Encode the body of a part so that every host takes it, and every reader gets the same octets.

Text becomes quoted-printable, all else base64 (RFC 2045 6). A body that is encoded already gets
shorter lines only. No line of a result is one of the ``delimiters`` of the multiparts around the
part: a text may come from anybody, and people who got the message before know its boundaries.
"""

from __future__ import annotations

import re
from binascii import a2b_qp, b2a_base64
from collections.abc import Iterable

from chalicelib.mail_format.header_section import MessageError
from chalicelib.mail_format.transfer_encoding import (
    LINE_LIMIT,
    EncodedText,
    encode_text,
    normalise_newlines,
    quoted_printable,
    wrap_base64,
)

_NOT_BASE64 = re.compile(rb"[^A-Za-z0-9+/=]+")
_NOT_QUOTED = re.compile(rb"[\x00\x80-\xff]")
_TOO_LONG = re.compile(rb"[^\r\n]{%d,}" % (LINE_LIMIT + 1))
_LONG_LINE = re.compile(rb"[^\r\n]{77,}")
_SHORT = re.compile(rb"[^=\r\n]{1,75}|(?:=[0-9A-Fa-f]{2}|[^\r\n]){1,25}")


def seven_bit_body(
    body: bytes, encoding: str, *, is_text: bool, delimiters: Iterable[bytes]
) -> EncodedText:
    """Return a body in an encoding that every host takes.

    ``encoding`` is the one it has; readers take an unknown one for none.
    """
    if encoding == "base64":
        return EncodedText(encoding, _wrapped(_NOT_BASE64.sub(b"", body)))
    is_quoted = encoding == "quoted-printable"
    if is_quoted or (is_text and b"\0" not in body):
        encoded = _shortened(body) if is_quoted else quoted_printable(body)
        if not any(delimiter in encoded for delimiter in delimiters):
            return EncodedText("quoted-printable", encoded)
    return base64_body(a2b_qp(body) if is_quoted else body)


def text_body(text: str, delimiters: Iterable[bytes]) -> EncodedText:
    """Return a text as UTF-8 in an encoding that every host takes."""
    encoded = encode_text(text)
    if any(delimiter in encoded.body for delimiter in delimiters):
        return base64_body(normalise_newlines(text.encode("utf-8", "replace")))
    return encoded


def undescribed_body(octets: bytes) -> bytes:
    """Return the octets of a text that no header describes, so that it cannot be encoded.

    A NUL is dropped, and a line is ended behind a blank before it is too long. Raises MessageError
    for a line without blanks. Octets beyond ASCII stay.
    """
    return _TOO_LONG.sub(_ended, octets.replace(b"\0", b""))


def base64_body(octets: bytes) -> EncodedText:
    """Return octets as base64."""
    return EncodedText("base64", _wrapped(b2a_base64(octets, newline=False)))


def _ended(match: re.Match[bytes]) -> bytes:
    line, lines = match[0], []
    while len(line) > LINE_LIMIT:
        end = line.rfind(b" ", 0, LINE_LIMIT) + 1
        if not end:
            raise MessageError(
                f"a line has more than {LINE_LIMIT} octets, and no header says how its text may be "
                "encoded: a Content-Type is missing"
            )
        lines.append(line[:end])
        line = line[end:]
    return b"\r\n".join([*lines, line])


def _wrapped(encoded: bytes) -> bytes:
    return b"".join(wrap_base64(encoded)) + b"\r\n"


def _shortened(body: bytes) -> bytes:
    """Return quoted-printable with soft line breaks in its long lines."""
    body = _NOT_QUOTED.sub(lambda octet: b"=%02X" % octet[0][0], body)
    return _LONG_LINE.sub(_broken, body)


def _broken(line: re.Match[bytes]) -> bytes:
    return b"=\r\n".join(_SHORT.findall(line[0]))
