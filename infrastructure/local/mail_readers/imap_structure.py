"""Find the parts of a message for IMAP, and describe them (RFC 3501 7.4.2).

The parts are those that the service itself sees. A structure that a mail reader would have to guess
is one text. Messages inside message/rfc822 parts are entered, down to a limit.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from chalicelib.mail_format import mime_tree
from chalicelib.mail_format.header_section import MessageError, split_head
from infrastructure.local.mail_readers.imap_syntax import string
from infrastructure.local.mailbox.header_fields import address_pairs

_MOST_NESTING = 8
_MOST_ADDRESSES = 2000
_MOST_FIELD = 128 * 1024
_EMBEDDED = ("message/rfc822", "message/global")
_FIELD_END = re.compile(rb"\r\n(?![ \t])")
_PARAMETER = re.compile(
    r"""[ \t]*;[ \t]*"""
    r"""(?:([^\s;=()<>@,:"/\[\]?]+)[ \t]*=[ \t]*(?:"((?:[^"\\]|\\.)*+)"|([^\s;"]+)))?"""
)


@dataclass
class Part:
    """A part, or a message: its spans in `content`, and what its header fields say of it."""

    content: bytes
    start: int
    body_start: int
    end: int
    content_type: str = "text/plain"
    parameters: dict[str, str] = field(default_factory=dict)
    encoding: str = ""
    children: list[Part] = field(default_factory=list)
    #: The message inside a message/rfc822 part
    message: Part | None = None

    @property
    def head(self) -> bytes:
        """The header section with the empty line that ends it."""
        return self.content[self.start : self.body_start]

    @property
    def body(self) -> bytes:
        """The body as it is transferred."""
        return self.content[self.body_start : self.end]

    def fields(self) -> list[tuple[bytes, bytes]]:
        """The lower-case name of each field, and the field with its CRLF; malformed lines miss."""
        raws = _FIELD_END.split(self.head.removesuffix(b"\r\n\r\n"))
        pairs = ((raw.partition(b":")[0].strip().lower(), raw) for raw in raws if b":" in raw)
        return [(name, raw.removesuffix(b"\r\n") + b"\r\n") for name, raw in pairs if name]

    def values(self) -> dict[bytes, bytes]:
        """The unfolded value of the first field of each name."""
        values: dict[bytes, bytes] = {}
        for name, raw in self.fields():
            value = raw.partition(b":")[2].replace(b"\r", b"").replace(b"\n", b"").strip()
            values.setdefault(name, value[:_MOST_FIELD])
        return values

    def part(self, path: tuple[int, ...]) -> Part | None:
        """Return the part of a message that a path such as 2.1 names, None if there is none.

        The body of a message that is no multipart is part 1.
        """
        part, is_message = self, True
        for number in path:
            if not is_message and part.message:
                part, is_message = part.message, True
            if part.children:
                if not 0 < number <= len(part.children):
                    return None
                part = part.children[number - 1]
            elif not is_message or number != 1:
                return None
            is_message = False
        return part


def parse(content: bytes, start: int = 0, end: int | None = None, depth: int = 0) -> Part:
    """Return a message with its parts."""
    message = content if (start, end) == (0, None) else content[start:end]
    try:
        nodes = mime_tree.parse_tree(message)
    except MessageError:
        return _undivided(message)
    parts: list[Part] = []
    for node in nodes:
        part = Part(
            message,
            node.start,
            node.body_start,
            node.end,
            node.content_type,
            node.parameters,
            node.encoding,
        )
        if node.parent is not None:
            parts[node.parent].children.append(part)
        if _is_embedded(part) and depth < _MOST_NESTING:
            part.message = parse(message, part.body_start, part.end, depth + 1)
        parts.append(part)
    return parts[0]


def _undivided(message: bytes) -> Part:
    """Return a message of one part, which a client may try to understand."""
    part = Part(message, 0, split_head(message, 0, len(message))[1], len(message))
    values = part.values()
    content_type = values.get(b"content-type", b"").decode("latin-1")
    media_type = mime_tree.media_type(content_type)
    if media_type and not media_type.startswith(("multipart/", "message/")):
        part.content_type = media_type
        _, separator, parameters = content_type.partition(";")
        part.parameters = _read_parameters(separator + parameters)
        part.encoding = values.get(b"content-transfer-encoding", b"").decode("latin-1").lower()
    return part


def _is_embedded(part: Part) -> bool:
    return part.content_type in _EMBEDDED and part.encoding in mime_tree.IDENTITY


def envelope(message: Part) -> bytes:
    """Return the ENVELOPE of a message."""
    values = message.values()
    author = _addresses(values.get(b"from"))
    return b"(%b)" % b" ".join(
        (
            string(values.get(b"date")),
            string(values.get(b"subject")),
            author,
            _addresses(values.get(b"sender"), author),
            _addresses(values.get(b"reply-to"), author),
            *(_addresses(values.get(name)) for name in (b"to", b"cc", b"bcc")),
            string(values.get(b"in-reply-to")),
            string(values.get(b"message-id")),
        )
    )


def _addresses(value: bytes | None, default: bytes = b"NIL") -> bytes:
    if not value:
        return default
    pairs = address_pairs(value.decode("utf-8", "surrogateescape"))
    texts = [_address(name, email) for name, email in pairs[:_MOST_ADDRESSES] if email]
    return b"(%b)" % b"".join(texts) if texts else default


def _address(name: str, email: str) -> bytes:
    local_part, at, domain = email.rpartition("@")
    parts = (name, "", local_part if at else email, domain)
    return b"(%b)" % b" ".join(
        string(part.encode("utf-8", "surrogateescape") if part else None) for part in parts
    )


def structure(part: Part, *, has_extensions: bool) -> bytes:
    """Return the BODYSTRUCTURE of a part, or its BODY, which has no extensions."""
    kind, _, subtype = part.content_type.partition("/")
    values = part.values()
    disposition = _disposition(values.get(b"content-disposition"))
    more = (disposition, b"NIL", string(values.get(b"content-location")))
    if part.children:
        children = b"".join(
            structure(each, has_extensions=has_extensions) for each in part.children
        )
        extensions = (_parameters(part.parameters), *more) if has_extensions else ()
        return b"(%b)" % b" ".join((children, string(subtype.upper().encode()), *extensions))
    items = [
        string(kind.upper().encode()),
        string(subtype.upper().encode()),
        _parameters(part.parameters or _default_parameters(part)),
        string(values.get(b"content-id")),
        string(values.get(b"content-description")),
        string((part.encoding or "7bit").upper().encode("utf-8", "replace")),
        b"%d" % (part.end - part.body_start),
    ]
    if part.content_type == "message/rfc822":
        items += _embedded(part, has_extensions=has_extensions)
    elif kind == "text":
        items.append(_lines(part.body))
    if has_extensions:
        items += [string(values.get(b"content-md5")), *more]
    return b"(%b)" % b" ".join(items)


def _embedded(part: Part, *, has_extensions: bool) -> list[bytes]:
    # One that is not entered still has the items that its type asks for
    message = part.message or Part(b"", 0, 0, 0)
    inner = structure(message, has_extensions=has_extensions)
    return [envelope(message), inner, _lines(part.body)]


def _default_parameters(part: Part) -> dict[str, str]:
    return {"charset": "us-ascii"} if part.content_type == "text/plain" else {}


def _lines(body: bytes) -> bytes:
    return b"%d" % (body.count(b"\n") + (not body.endswith(b"\n") and bool(body)))


def _parameters(parameters: dict[str, str]) -> bytes:
    if not parameters:
        return b"NIL"
    texts = (text for name, value in parameters.items() for text in (name.upper(), value))
    return b"(%b)" % b" ".join(string(text.encode("latin-1", "replace")) for text in texts)


def _disposition(value: bytes | None) -> bytes:
    if not value:
        return b"NIL"
    kind, separator, rest = value.decode("latin-1").partition(";")
    return b"(%b %b)" % (
        string(kind.strip().upper().encode("latin-1")),
        _parameters(_read_parameters(separator + rest)),
    )


def _read_parameters(text: str) -> dict[str, str]:
    parameters: dict[str, str] = {}
    position = 0
    while match := _PARAMETER.match(text, position):
        name, quoted, token = match.groups()
        if name:
            value = token if quoted is None else re.sub(r"\\(.)", r"\1", quoted)
            parameters.setdefault(name.lower(), value)
        position = match.end()
    return parameters
