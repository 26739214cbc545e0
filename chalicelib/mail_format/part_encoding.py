"""Check that the parts of a pre-built message can be decoded.

Mail readers are lenient, and what they read anyway is no fault: see
`transfer_encoding.decode_base64`. In quoted-printable they show a wrong escape as it is (RFC 2045
6.7), so that everything can be read.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from chalicelib.mail_format.header_section import MessageError
from chalicelib.mail_format.mime_tree import IDENTITY, MimePart
from chalicelib.mail_format.transfer_encoding import base64_digits

#: RFC 2045 6.1, and what readers decode though it was never a standard
_ENCODINGS: Final = IDENTITY | {
    *("quoted-printable", "base64"),
    *("x-uuencode", "uuencode", "x-uue", "uue"),
}


def check_encodings(message: bytes, parts: Iterable[MimePart]) -> None:
    """Raise MessageError for the first part that no mail reader can decode."""
    for part in parts:
        if part.encoding not in _ENCODINGS:
            raise MessageError(f"unknown Content-Transfer-Encoding {part.encoding[:80]!r}")
        if part.encoding == "base64":
            _check_base64(message[part.body_start : part.end], part)


def _check_base64(body: bytes, part: MimePart) -> None:
    try:
        base64_digits(body)
    except ValueError:
        raise MessageError(f"the {part.content_type[:80]} part cannot be decoded") from None
