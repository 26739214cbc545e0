"""Read an inbound report, however broken it is: reports come from strangers.

Nothing here raises, recurses without bound or takes more than linear time. Content beyond the
limits is ignored: a report makes its point at the beginning, and the message that it returns may
have any size.
"""

from __future__ import annotations

import re
from binascii import a2b_qp
from dataclasses import dataclass

from chalicelib.mail_format import received_tree
from chalicelib.mail_format.received_body import from_base64, transfer_encoding
from chalicelib.mail_format.received_fields import MOST_BYTES, MOST_FIELDS, Fields, newlines
from chalicelib.mail_format.received_tree import TreeLimits

__all__ = ["MOST_FIELDS", "Fields", "Mail", "ReceivedPart", "header_of", "read"]

READ_BYTES = 512 * 1024
"""Bytes of a message that are read."""

ORIGINALS = ("message/rfc822", "message/global", "text/rfc822-headers", "message/rfc822-headers")
"""Types of the parts that hold a message, or its header."""

MOST_PARTS = 40
DEEPEST = 4

_CHARSET = re.compile(r'\bcharset\s*=\s*"?([\w.-]{1,40})', re.IGNORECASE | re.ASCII)

# Other names may be no charsets, or their codecs take more than linear time (punycode)
_CHARSETS = re.compile(
    r"iso-8859-[0-9]{1,2}|(windows-|cp)125[0-9]|koi8-[ru]|gb2312|gbk|gb18030|big5|euc-(jp|kr)|"
    r"shift_jis|iso-2022-jp",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class ReceivedPart:
    """A part that is no multipart; ``body`` is as it travelled, with LF line ends."""

    fields: Fields
    content_type: str
    body: bytes

    def content(self) -> bytes:
        """Return the body without its transfer encoding, with LF line ends."""
        return newlines(self.data())

    def data(self) -> bytes:
        """Return the body without its transfer encoding; what is not text keeps all its bytes."""
        encoding = transfer_encoding(self.fields.first("content-transfer-encoding"))
        if encoding == "base64":
            return from_base64(self.body)
        return a2b_qp(self.body) if encoding == "quoted-printable" else self.body

    def text(self) -> str:
        """Return the content as text: UTF-8, else the charset that the part names, else Latin-1."""
        data = self.content()
        try:
            return data.decode()
        except UnicodeDecodeError:
            charset = _CHARSET.search(self.fields.first("content-type"))
            supported = charset and _CHARSETS.fullmatch(charset[1])
            return _in_charset(data, charset[1] if charset and supported else "latin-1")


@dataclass(frozen=True, slots=True)
class Mail:
    """A message: its header fields, and its parts in order."""

    fields: Fields
    parts: tuple[ReceivedPart, ...]

    def part(self, *content_types: str) -> ReceivedPart | None:
        """Return the first part of one of these types."""
        return next((part for part in self.parts if part.content_type in content_types), None)


def read(message: bytes, most_bytes: int = READ_BYTES) -> Mail:
    """Parse the first ``most_bytes`` of a message."""
    octets = newlines(message[:most_bytes])
    fields, parts = received_tree.read(octets, TreeLimits(MOST_PARTS, DEEPEST))
    bodies = (octets[part.start : _with_line_end(octets, part.end)] for part in parts)
    return Mail(
        fields,
        tuple(
            ReceivedPart(part.fields, part.content_type, body)
            for part, body in zip(parts, bodies, strict=True)
        ),
    )


def header_of(content: bytes) -> Fields:
    """Return the header fields of a message that another one carries."""
    return Fields(newlines(content[:MOST_BYTES]).partition(b"\n\n")[0])


def _with_line_end(octets: bytes, end: int) -> int:
    """Return the end of a body with the line end that is the delimiter's: texts are lines here."""
    return end + 1 if octets.startswith(b"\n", end) else end


def _in_charset(data: bytes, charset: str) -> str:
    try:
        return data.decode(charset, "replace")
    except LookupError:
        return data.decode("latin-1")
