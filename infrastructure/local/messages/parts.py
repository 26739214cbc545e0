"""Parse a stored message into its parts, without copying what nobody asks for.

A structure that a mail reader would have to guess is not divided: such a message is one text part,
and ``problem`` says why. Message text is decoded leniently, because it is only shown.
"""

from __future__ import annotations

import binascii
import re
from dataclasses import dataclass
from email import message_from_bytes
from email.message import Message
from functools import cached_property

from chalicelib.mail_format import mime_tree
from chalicelib.mail_format.charsets import charset
from chalicelib.mail_format.encoded_words import readable
from chalicelib.mail_format.header_section import MessageError, header_fields, split_head
from infrastructure.local.mailbox.trace import Trace, split

TEXT, HTML, AMP, ATTACHMENT, INLINE = "text", "html", "amp", "attachment", "inline"

_BODIES = {"text/plain": TEXT, "text/html": HTML, "text/x-amp-html": AMP}
_NAMED = re.compile(rb"name|content-id", re.IGNORECASE)
_NO_BASE64 = re.compile(rb"[^A-Za-z0-9+/]+")


@dataclass(frozen=True, slots=True)
class MessagePart:
    """A part that is no multipart; ``number`` counts all parts of the message from 0.

    ``role`` says what it is for a reader: the message's text, html or AMP html, something that they
    refer to, or an attachment.
    """

    number: int
    role: str
    content_type: str
    charset: str
    encoding: str
    filename: str
    content_id: str
    start: int
    end: int


class StoredMessage:
    """A message of the mailbox, parsed when it is looked at."""

    def __init__(self, source: bytes) -> None:
        """``source`` is the message with the trace fields that the mailbox puts before it."""
        trace, begin = split(source)
        #: The envelope, and what the mailbox knows of the message
        self.trace = trace or Trace("", ())
        #: The message as it was received
        self.content = source[begin:]
        self.problem = ""

    @property
    def sender(self) -> str:
        """The envelope sender, empty for the null return path."""
        return self.trace.sender

    @property
    def recipient(self) -> str:
        """The first recipient of the envelope, empty if there is none."""
        return self.trace.recipients[0] if self.trace.recipients else ""

    @cached_property
    def raw_headers(self) -> list[tuple[str, str]]:
        """Name and unfolded value of each header field, not decoded; none if malformed."""
        head_end, _ = split_head(self.content, 0, len(self.content))
        try:
            fields = [raw for _, raw in header_fields(self.content, 0, head_end)]
        except MessageError:
            return []
        pairs = (raw.decode("utf-8", "replace").partition(":") for raw in fields)
        return [(name, value.replace("\r\n", "").strip()) for name, _, value in pairs]

    @cached_property
    def headers(self) -> list[tuple[str, str]]:
        """Name and decoded value of each header field, in order; none if they are malformed."""
        return [(name, readable(value)) for name, value in self.raw_headers]

    def header(self, name: str) -> str:
        """The decoded value of the first field of a name, empty when absent."""
        lower = name.lower()
        values = (value for each, value in self.raw_headers if each.lower() == lower)
        return readable(next(values, ""))

    @cached_property
    def parts(self) -> list[MessagePart]:
        """The parts in the order of the message."""
        try:
            tree = mime_tree.parse_tree(self.content)
        except MessageError as error:
            self.problem = str(error)
            return [MessagePart(0, TEXT, "text/plain", "", "", "", "", 0, len(self.content))]
        parts: list[MessagePart] = []
        for number, node in enumerate(tree):
            if not node.content_type.startswith("multipart/"):
                parts.append(self._part(number, node, {part.role for part in parts}))
        return parts

    def body(self, role: str) -> str | None:
        """The text of the first part of a role, ``None`` if there is none."""
        part = next((part for part in self.parts if part.role == role), None)
        return None if part is None else self.text(part)

    def part(self, number: int) -> MessagePart | None:
        """The part of a number, ``None`` if there is none."""
        return next((part for part in self.parts if part.number == number), None)

    def data(self, part: MessagePart) -> bytes:
        """The decoded bytes of a part."""
        body = self.content[part.start : part.end]
        if part.encoding == "base64":
            return _from_base64(body)
        return binascii.a2b_qp(body) if part.encoding == "quoted-printable" else body

    def text(self, part: MessagePart) -> str:
        """The content of a part as text, with LF line ends."""
        data = self.data(part)
        try:
            text = data.decode(charset(part.charset or "utf-8"), "replace")
        except LookupError:
            text = data.decode("utf-8", "replace")
        return text.replace("\r\n", "\n")

    def _part(self, number: int, node: mime_tree.MimePart, roles: set[str]) -> MessagePart:
        head = self.content[node.start : node.body_start]
        filename = content_id = ""
        if _NAMED.search(head):  # parsing takes long
            fields: Message = message_from_bytes(head)
            filename = _filename(fields)
            content_id = str(fields.get("Content-ID", "")).strip().strip("<>")
        role = _BODIES.get(node.content_type, "")
        if not role or role in roles or node.disposition == "attachment" or filename:
            is_inline = node.disposition != "attachment" and content_id
            role = INLINE if is_inline or node.disposition == "inline" else ATTACHMENT
        return MessagePart(
            number=number,
            role=role,
            content_type=node.content_type,
            charset=node.parameters.get("charset", ""),
            encoding=node.encoding,
            filename=filename,
            content_id=content_id,
            start=node.body_start,
            end=node.end,
        )


def _filename(head: Message) -> str:
    try:
        return readable(head.get_filename() or "")
    except (ValueError, LookupError, TypeError):  # a malformed parameter (RFC 2231)
        return ""


def _from_base64(body: bytes) -> bytes:
    """Decode base64 that may be malformed."""
    digits = _NO_BASE64.sub(b"", body)
    usable = digits[:-1] if len(digits) % 4 == 1 else digits  # one digit alone is no byte
    return binascii.a2b_base64(usable + b"=" * (-len(usable) % 4))
