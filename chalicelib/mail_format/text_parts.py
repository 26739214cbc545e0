"""Find, read and replace the text parts of a pre-built message.

Only the first text/plain, text/html and text/x-amp-html part that is not an attachment counts (spec
2.2, RFC822 rule 1). All bytes outside a replaced text stay as they are. A replaced text is written
as UTF-8, in a transfer encoding that suits it.
"""

from __future__ import annotations

from binascii import a2b_qp
from collections.abc import Iterable, Sequence

from chalicelib.mail_format import rfc822
from chalicelib.mail_format.charsets import charset
from chalicelib.mail_format.content_headers import described, is_described
from chalicelib.mail_format.header_section import MessageError, header_fields, split_head
from chalicelib.mail_format.mime_tree import IDENTITY, MimePart
from chalicelib.mail_format.rfc822 import Field
from chalicelib.mail_format.seven_bit_bodies import text_body, undescribed_body
from chalicelib.mail_format.signed_parts import around
from chalicelib.mail_format.transfer_encoding import decode_base64, normalise_newlines

PLAIN, HTML, AMP = "text/plain", "text/html", "text/x-amp-html"

_KINDS = (PLAIN, HTML, AMP)
_UTF_8 = frozenset({"utf-8", "ascii"})


def find(tree: Sequence[MimePart]) -> list[MimePart]:
    """Return the first part of each kind, in the order of the message."""
    parts: dict[str, MimePart] = {}
    for part in tree:
        if part.content_type in _KINDS and part.disposition != "attachment":
            parts.setdefault(part.content_type, part)
    return list(parts.values())


def read(message: bytes, part: MimePart) -> str:
    """Return the text of a part; raises ``MessageError`` if its declared encoding is wrong."""
    body = message[part.body_start : part.end]
    try:
        if part.encoding == "base64":
            body = decode_base64(body)
        elif part.encoding == "quoted-printable":
            body = a2b_qp(body)
        elif part.encoding not in IDENTITY:
            raise MessageError(f"unknown Content-Transfer-Encoding {part.encoding[:80]!r}")
        return _decoded(body, _charset(part))
    except (LookupError, ValueError) as fault:
        if isinstance(fault, MessageError):
            raise
        raise MessageError(f"the {part.content_type} part cannot be decoded") from None


def replaced(
    message: bytes,
    tree: Sequence[MimePart],
    fields: Iterable[Field],
    texts: Iterable[tuple[MimePart, str]],
    *,
    describes: bool = True,
) -> bytes:
    """Return the message with these top-level header fields and the new texts of some parts.

    ``texts`` has the parts in the order of the message. A message without any content header gets
    some only if ``describes``: else its text is plain UTF-8, and ``MessageError`` is raised for a
    line that is too long for that.
    """
    pieces: list[bytes] = []
    at = split_head(message, 0, len(message))[1]
    for part, text in texts:
        delimiters = [b"--" + each.parameters["boundary"].encode() for each in around(part, tree)]
        if part.parent is None:
            return rfc822.join(*_section(part, list(fields), text, delimiters, describes))
        head_end, _ = split_head(message, part.start, part.end)
        own = header_fields(message, part.start, head_end)
        section = rfc822.join(*_section(part, own, text, delimiters, describes))
        pieces += [message[at : part.start], section]
        at = part.end
    rest = memoryview(message)[at:]  # a message may be large
    return rfc822.join(fields, b"".join([*pieces, rest]) if pieces else rest)


def _section(
    part: MimePart, fields: list[Field], text: str, delimiters: Sequence[bytes], describes: bool
) -> tuple[list[Field], bytes]:
    """Return the header fields and the body of a part with a new text."""
    if part.parent is None and not (describes or is_described(fields)):
        return fields, undescribed_body(normalise_newlines(text.encode("utf-8", "replace")))
    encoded = text_body(text, delimiters)
    if encoded.encoding == (part.encoding or "7bit") == "7bit" and _charset(part) in _UTF_8:
        return fields, encoded.body
    return described(part, fields, encoded.encoding, utf_8=True), encoded.body


def _decoded(body: bytes, name: str) -> str:
    if name == "iso8859-1":
        # As all readers do (WHATWG Encoding): most texts with these labels contain Windows' quotes
        try:
            return body.decode("cp1252")
        except ValueError:
            pass
    return body.decode("utf-8" if name in _UTF_8 else name)


def _charset(part: MimePart) -> str:
    """Return the charset under its usual name; a part without a charset counts as UTF-8."""
    return charset(part.parameters.get("charset", "utf-8"))
