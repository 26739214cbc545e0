"""Parse an inbound message, however broken it is: reports come from strangers.

Nothing here raises, recurses without bound or takes more than linear time. Content beyond the
limits is ignored: a report makes its point at the beginning, and the message that it returns may
have any size.
"""

from __future__ import annotations

import re
from binascii import a2b_base64, a2b_qp
from collections.abc import Iterator
from dataclasses import dataclass

from chalicelib.mail_format.encoded_words import readable

READ_BYTES = 512 * 1024
"""Bytes of a message that are read."""

ORIGINALS = ("message/rfc822", "message/global", "text/rfc822-headers", "message/rfc822-headers")
"""Types of the parts that hold a message, or its header."""

MOST_PARTS = 40
DEEPEST = 4
MOST_FIELDS = 500

_HEAD_BYTES = 64 * 1024
_FOLD = re.compile(r"\n[ \t]+")
_FIELD_NAME = re.compile(r"[!-9;-~]+")
_MEDIA_TYPE = re.compile(r"\s*([\w.+-]{1,70}/[\w.+-]{1,70})", re.ASCII)
_BOUNDARY = re.compile(r'\bboundary\s*=\s*(?:"([^"]{1,200})"|([^\s;"]{1,200}))', re.IGNORECASE)
_CHARSET = re.compile(r'\bcharset\s*=\s*"?([\w.-]{1,40})', re.IGNORECASE | re.ASCII)
_USUAL_DELIMITER = re.compile(rb"^(--[^\s]{1,200})\nContent-[A-Z]", re.MULTILINE | re.IGNORECASE)
_PADDING = re.compile(rb"=+")
_NO_BASE64 = re.compile(rb"[^A-Za-z0-9+/]+")

# Other names may be no charsets, or their codecs take more than linear time (punycode)
_CHARSETS = re.compile(
    r"iso-8859-[0-9]{1,2}|(windows-|cp)125[0-9]|koi8-[ru]|gb2312|gbk|gb18030|big5|euc-(jp|kr)|"
    r"shift_jis|iso-2022-jp",
    re.IGNORECASE,
)


class Fields:
    """The fields of a header section, in order; values without folding, not decoded."""

    __slots__ = ("_fields",)

    def __init__(self, section: bytes) -> None:
        text = _FOLD.sub(" ", _newlines(section[:_HEAD_BYTES]).decode("utf-8", "replace"))
        lines = (line.partition(":") for line in text.split("\n", MOST_FIELDS)[:MOST_FIELDS])
        self._fields = [
            (name.strip().lower(), value.strip())
            for name, colon, value in lines
            if colon and _FIELD_NAME.fullmatch(name.strip())
        ]

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


@dataclass(frozen=True, slots=True)
class ReceivedPart:
    """A part that is no multipart; ``body`` is as it travelled, with LF line ends."""

    fields: Fields
    content_type: str
    body: bytes

    def content(self) -> bytes:
        """Return the body without its transfer encoding, with LF line ends."""
        return _newlines(self.data())

    def data(self) -> bytes:
        """Return the body without its transfer encoding; what is not text keeps all its bytes."""
        encoding = self.fields.first("content-transfer-encoding").lower().strip(" ;\"'")
        if encoding == "base64":
            return _from_base64(self.body)
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
    head, body = _split(_newlines(message[:most_bytes]))
    fields = Fields(head)
    parts: list[ReceivedPart] = []
    for part in _parts(fields, body, 1):
        parts.append(part)
        if len(parts) == MOST_PARTS:
            break
    return Mail(fields, tuple(parts))


def header_of(content: bytes) -> Fields:
    """Return the header fields of a message that another one carries."""
    return Fields(_split(_newlines(content[:_HEAD_BYTES]))[0])


def _parts(fields: Fields, body: bytes, depth: int) -> Iterator[ReceivedPart]:
    """Yield the parts of an entity, or itself; entities nested too deeply stay whole."""
    header = fields.first("content-type")
    media_type = _MEDIA_TYPE.match(header)
    content_type = media_type[1].lower() if media_type else "text/plain"
    boundary = _BOUNDARY.search(header) if content_type.startswith("multipart/") else None
    if boundary is None or depth > DEEPEST:
        yield ReceivedPart(fields, content_type, body)
        return
    pieces = _cut(body, _delimiter(body, (boundary[1] or boundary[2]).rstrip()))
    has_parts = False
    for piece in pieces:
        has_parts = True
        head, inner = _split(piece)
        yield from _parts(Fields(head), inner, depth + 1)
    if not has_parts:
        yield ReceivedPart(fields, "text/plain", body)


def _delimiter(body: bytes, boundary: str) -> bytes:
    """Return the beginning of delimiter lines; a wrong boundary is replaced by the one in use."""
    delimiter = b"--" + boundary.encode("utf-8", "replace")
    usual = None if delimiter in body else _USUAL_DELIMITER.search(body)
    return usual[1] if usual else delimiter


def _cut(body: bytes, delimiter: bytes) -> Iterator[bytes]:
    """Yield the content between delimiter lines; without a last line, up to the end."""
    line = re.compile(rb"^" + re.escape(delimiter) + rb"(--)?[ \t]*$\n?", re.MULTILINE)
    start = None
    for match in line.finditer(body):
        if start is not None:
            yield body[start : match.start()]
        if match[1]:
            return
        start = match.end()
    if start is not None:
        yield body[start:]


def _split(entity: bytes) -> tuple[bytes, bytes]:
    """Return the header section and the body of an entity with LF line ends."""
    if entity.startswith(b"\n"):
        return b"", entity[1:]
    head, _, body = entity.partition(b"\n\n")
    return head, body


def _newlines(data: bytes) -> bytes:
    return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def _from_base64(body: bytes) -> bytes:
    """Decode base64 that may be cut short, with junk in it, or in several pieces."""
    return b"".join(map(_piece_of_base64, _PADDING.split(body)))


def _piece_of_base64(body: bytes) -> bytes:
    digits = _NO_BASE64.sub(b"", body)
    usable = digits[:-1] if len(digits) % 4 == 1 else digits  # one digit alone is no byte
    return a2b_base64(usable + b"=" * (-len(usable) % 4))


def _in_charset(data: bytes, charset: str) -> str:
    try:
        return data.decode(charset, "replace")
    except LookupError:
        return data.decode("latin-1")
