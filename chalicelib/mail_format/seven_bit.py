"""Bring a message into the form that every host takes: 7bit, short lines, no NUL.

A host need not take octets beyond ASCII (RFC 6152) and lines over 998 octets (RFC 5321 4.5.3.1.6):
some refuse such a message, others cut its lines and break its signature. A NUL is allowed nowhere
(RFC 5322 2.2), and some readers end a text there. What changes is how the message is written; its
texts and files stay the same for a reader.

- The parts of multipart and message/rfc822 are encoded, not these themselves (RFC 2045 6.4).
- A NUL in a text that readers show is dropped.
- What its author has signed stays as it is (``signed_parts``): it may have octets beyond ASCII,
  which need a host with 8BITMIME, but neither long lines nor a NUL.

Time is linear in the size of the message.
"""

from __future__ import annotations

from binascii import a2b_base64, a2b_qp
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from chalicelib.mail_format import text_parts
from chalicelib.mail_format.content_headers import described, is_described
from chalicelib.mail_format.header_section import Field, MessageError, header_fields, split_head
from chalicelib.mail_format.mime_tree import IDENTITY, MAX_DEPTH, MimePart, readable_tree
from chalicelib.mail_format.seven_bit_bodies import (
    seven_bit_body,
    text_body,
    undescribed_body,
)
from chalicelib.mail_format.seven_bit_fields import seven_bit_field
from chalicelib.mail_format.signed_parts import SIGNED, around, is_sealed
from chalicelib.mail_format.transfer_encoding import (
    LINE_LIMIT,
    is_seven_bit,
    lines_fit,
    normalise_newlines,
)

#: Parts that are messages, whose own parts can be encoded
MESSAGES = frozenset({"message/rfc822", "message/news"})

Keeps = Callable[[Field], bool]


class _Edit(NamedTuple):
    """Other octets for a span of a message."""

    start: int
    end: int
    octets: bytes


def seven_bit(
    message: bytes,
    tree: Sequence[MimePart],
    *,
    keeps: Keeps = lambda _: False,
    describes: bool = True,
) -> bytes:
    """Return a message with CRLF line ends as every host takes it; raises MessageError.

    ``tree`` holds its parts, none if they cannot be told apart. ``keeps`` tells which fields of its
    header stay as they are. A message without any content header gets some only if ``describes``:
    else its text stays beyond ASCII.
    """
    return _Conversion(message, tree, keeps, describes).result()


def seven_bit_message(message: bytes, outer: Sequence[bytes] = (), level: int = 0) -> bytes:
    """Return a finished message as every host takes it; raises MessageError.

    It may be ``level`` messages deep in others; ``outer`` are the delimiters of the multiparts
    around it.
    """
    if is_seven_bit(message):
        return message
    if level > MAX_DEPTH:
        raise MessageError(f"messages are nested more than {MAX_DEPTH} deep")
    tree = readable_tree(message)
    return _Conversion(message, tree, lambda _: False, True, outer, level).result()


class _Conversion:
    """The conversion of one message."""

    def __init__(
        self,
        message: bytes,
        tree: Sequence[MimePart],
        keeps: Keeps,
        describes: bool,
        outer: Sequence[bytes] = (),
        level: int = 0,
    ) -> None:
        self._message = message
        self._tree = tree
        self._keeps = keeps
        self._describes = describes
        self._outer = outer
        self._level = level

    def result(self) -> bytes:
        """Return the converted message."""
        if not self._tree:
            return self._with_header_converted()
        edits = sorted(self._edits())
        pieces, at = [], 0
        for start, end, octets in edits:
            pieces += [self._message[at:start], octets]
            at = end
        return b"".join([*pieces, self._message[at:]]) if edits else self._message

    def _with_header_converted(self) -> bytes:
        """Return a message whose parts cannot be told apart, so that only its header changes."""
        end, start = split_head(self._message, 0, len(self._message))
        _check_lines(self._message[start:], "the message, whose parts cannot be told apart,")
        fields = header_fields(self._message, 0, end)
        new = self._converted(fields, is_top=True)
        return _joined(new) + self._message[end:] if new != fields else self._message

    def _edits(self) -> Iterator[_Edit]:
        children: dict[int, list[MimePart]] = defaultdict(list)
        for part in self._tree:
            if part.parent is not None:
                children[part.parent].append(part)
        for number, part in enumerate(self._tree):
            if any(each.content_type == SIGNED for each in around(part, self._tree)):
                continue
            end, start = split_head(self._message, part.start, part.end)
            fields = header_fields(self._message, part.start, end)
            new = self._converted(fields, is_top=part.parent is None)
            if part.content_type.startswith("multipart/"):
                yield from self._edits_between(part, children[number])
            elif body := self._body(part, new):
                new, octets = body
                yield _Edit(start, part.end, octets)
            if new != fields:
                yield _Edit(part.start, end, _joined(new))

    def _converted(self, fields: Sequence[Field], *, is_top: bool) -> list[Field]:
        return [
            field if is_top and self._keeps(field) else seven_bit_field(field) for field in fields
        ]

    def _edits_between(self, part: MimePart, children: Sequence[MimePart]) -> Iterator[_Edit]:
        """Yield new delimiters where a preamble, an epilogue or padding does not fit.

        No reader shows those.
        """
        if part.content_type == SIGNED:
            _check_lines(self._message[part.body_start : part.end], "a signed part")
            return
        delimiter = _delimiter(part)
        start, before = part.body_start, b""
        for child in children:
            if not is_seven_bit(self._message[start : child.start]):
                yield _Edit(start, child.start, b"%b%b\r\n" % (before, delimiter))
            start, before = child.end, b"\r\n"
        if not is_seven_bit(self._message[start : part.end]):
            yield _Edit(start, part.end, b"\r\n%b--\r\n" % delimiter)

    def _body(self, part: MimePart, fields: list[Field]) -> tuple[list[Field], bytes] | None:
        """Return the header fields and the body that a part needs; ``None`` if its own will do."""
        body = self._message[part.body_start : part.end]
        if is_composite(part.content_type):
            return self._body_of_composite(part, fields, body)
        if is_sealed(self._message, part, self._tree):
            _check_lines(body, "a signed part")
            return None
        if part.parent is None and not (self._describes or is_described(fields)):
            return None if is_seven_bit(body) else (fields, undescribed_body(body))
        delimiters = self._delimiters(part)
        if _is_shown(part) and (text := _text_with_nul(self._message, part)) is not None:
            encoded = text_body(text.replace("\0", ""), delimiters)
            return described(part, fields, encoded.encoding, utf_8=True), encoded.body
        if is_seven_bit(body):
            return None
        if _is_shown(part):
            body = body.replace(b"\0", b"")  # between encoded octets, or of what cannot be read
        is_text = part.content_type.startswith("text/")
        encoded = seven_bit_body(body, part.encoding, is_text=is_text, delimiters=delimiters)
        utf_8 = is_text and _is_unlabelled_utf_8(part, body)
        return described(part, fields, encoded.encoding, utf_8=utf_8), encoded.body

    def _body_of_composite(
        self, part: MimePart, fields: list[Field], body: bytes
    ) -> tuple[list[Field], bytes] | None:
        """Return the same for a part that must not be encoded itself.

        Where its author did encode it, that is undone, or else left as it is.
        """
        delimiters = self._delimiters(part)
        if part.encoding in IDENTITY:
            inner = self._inner(part, body, delimiters)
            _check_lines(inner, f"a part of type {part.content_type}")
            return (fields, inner) if inner is not body else None
        try:
            inner = self._inner(part, _decoded(part, body), delimiters)
        except ValueError:  # MessageError is one
            return None
        if not is_seven_bit(inner) or any(delimiter in inner for delimiter in delimiters):
            return None
        return described(part, fields, "7bit", utf_8=False), inner

    def _inner(self, part: MimePart, octets: bytes, delimiters: Sequence[bytes]) -> bytes:
        if part.content_type not in MESSAGES or not _has_header(octets):
            return octets
        return seven_bit_message(octets, delimiters, self._level + 1)

    def _delimiters(self, part: MimePart) -> list[bytes]:
        return [*self._outer, *map(_delimiter, around(part, self._tree))]


def is_composite(content_type: str) -> bool:
    """Tell whether parts of a type may have no transfer encoding (RFC 2045 6.4, RFC 6532 3.5).

    ``content_type`` is in lower case.
    """
    if content_type.startswith("message/"):
        return not content_type.startswith("message/global")
    return content_type.startswith("multipart/")


def _has_header(message: bytes) -> bool:
    """Tell whether octets are a message: with fields or with the blank line that ends them."""
    if message.startswith(b"\r\n"):
        return True
    try:
        return bool(header_fields(message, 0, split_head(message, 0, len(message))[0]))
    except MessageError:
        return False


def _joined(fields: Sequence[Field]) -> bytes:
    return b"".join(raw for _, raw in fields)


def _delimiter(part: MimePart) -> bytes:
    return b"--" + part.parameters["boundary"].encode("ascii")


def _check_lines(octets: bytes, what: str) -> None:
    """Refuse octets that may not be encoded and that no host takes; ``what`` names them."""
    if b"\0" in octets:
        raise MessageError(f"{what} holds a NUL")
    if not lines_fit(octets):
        raise MessageError(f"{what} has a line of more than {LINE_LIMIT} octets")


def _is_shown(part: MimePart) -> bool:
    return part.content_type.startswith("text/") and part.disposition != "attachment"


def _text_with_nul(message: bytes, part: MimePart) -> str | None:
    """Return a text that holds a NUL; ``None`` if it does not, or cannot be read."""
    if part.encoding == "quoted-printable":
        suspect = message.find(b"=00", part.body_start, part.end) >= 0
    else:
        suspect = part.encoding == "base64"
    if not suspect and message.find(b"\0", part.body_start, part.end) < 0:
        return None
    try:
        text = text_parts.read(message, part)
    except MessageError:
        return None
    return text if "\0" in text else None


def _decoded(part: MimePart, body: bytes) -> bytes:
    """Return the octets of a body in base64 or quoted-printable; raises ``ValueError``."""
    if part.encoding == "base64":
        return normalise_newlines(a2b_base64(body))
    if part.encoding == "quoted-printable":
        return normalise_newlines(a2b_qp(body))
    raise MessageError(f"unknown Content-Transfer-Encoding {part.encoding[:80]!r}")


def _is_unlabelled_utf_8(part: MimePart, body: bytes) -> bool:
    """Tell whether a text is in UTF-8, though its header says nothing or ASCII."""
    if part.encoding not in IDENTITY or body.isascii():
        return False
    if part.parameters.get("charset", "us-ascii").lower() != "us-ascii":
        return False
    try:
        body.decode()
    except ValueError:
        return False
    return True
