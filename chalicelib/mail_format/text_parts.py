"""Find, read and replace the text parts of a pre-built message.

Only the first text/plain, text/html and text/x-amp-html part that is not an attachment counts (spec
2.2, RFC822 rule 1). All bytes outside a replaced text stay as they are. A replaced text is written
as UTF-8, in a transfer encoding that suits it.
"""

from __future__ import annotations

import re
from binascii import a2b_qp, b2a_base64
from collections.abc import Iterable, Iterator, Sequence

from chalicelib.mail_format import rfc822
from chalicelib.mail_format.charsets import charset
from chalicelib.mail_format.header_section import MessageError, header_fields, split_head
from chalicelib.mail_format.headers import encode_header
from chalicelib.mail_format.mime_tree import Part
from chalicelib.mail_format.rfc822 import Field
from chalicelib.mail_format.transfer_encoding import (
    EncodedText,
    decode_base64,
    encode_text,
    normalise_newlines,
    wrap_base64,
)

PLAIN, HTML, AMP = "text/plain", "text/html", "text/x-amp-html"

_KINDS = (PLAIN, HTML, AMP)
_UTF_8 = frozenset({"utf-8", "ascii"})
_TOKEN = re.compile(r"[!#-'*+\-.0-9A-Z^-~]+")


def find(tree: Sequence[Part]) -> list[Part]:
    """Return the first part of each kind, in the order of the message."""
    parts: dict[str, Part] = {}
    for part in tree:
        if part.content_type in _KINDS and part.disposition != "attachment":
            parts.setdefault(part.content_type, part)
    return list(parts.values())


def is_sealed(part: Part, tree: Sequence[Part]) -> bool:
    """Tell whether a change would break a signature of the sender (RFC 1847)."""
    return any(each.content_type == "multipart/signed" for each in _around(part, tree))


def read(message: bytes, part: Part) -> str:
    """Return the text of a part; raises ``MessageError`` if its declared encoding is wrong."""
    body = message[part.body_start : part.end]
    try:
        if part.encoding == "base64":
            body = decode_base64(body)
        elif part.encoding == "quoted-printable":
            body = a2b_qp(body)
        elif part.encoding not in ("", "7bit", "8bit", "binary"):
            raise MessageError(f"unknown Content-Transfer-Encoding {part.encoding[:80]!r}")
        return _decoded(body, _charset(part))
    except (LookupError, ValueError) as fault:
        if isinstance(fault, MessageError):
            raise
        raise MessageError(f"the {part.content_type} part cannot be decoded") from None


def replaced(
    message: bytes,
    tree: Sequence[Part],
    fields: Iterable[Field],
    texts: Iterable[tuple[Part, str]],
) -> bytes:
    """Return the message with these top-level header fields and the new texts of some parts.

    ``texts`` has the parts in the order of the message.
    """
    pieces: list[bytes] = []
    at = split_head(message, 0, len(message))[1]
    for part, text in texts:
        encoded = _encoded(text, [each.parameters["boundary"] for each in _around(part, tree)])
        if part.parent is None:
            return rfc822.join(_described(part, fields, encoded), encoded.body)
        head_end, _ = split_head(message, part.start, part.end)
        own = header_fields(message, part.start, head_end)
        section = rfc822.join(_described(part, own, encoded), encoded.body)
        pieces += [message[at : part.start], section]
        at = part.end
    return rfc822.join(fields, b"".join([*pieces, message[at:]]))


def _decoded(body: bytes, name: str) -> str:
    if name == "iso8859-1":
        # As all readers do (WHATWG Encoding): most texts with these labels contain Windows' quotes
        try:
            return body.decode("cp1252")
        except ValueError:
            pass
    return body.decode("utf-8" if name in _UTF_8 else name)


def _around(part: Part, tree: Sequence[Part]) -> Iterator[Part]:
    """Yield the multiparts around a part, from the inside out."""
    while part.parent is not None:
        part = tree[part.parent]
        yield part


def _encoded(text: str, boundaries: Iterable[str]) -> EncodedText:
    """Encode a text so that no line of it equals a delimiter.

    A value may come from anybody, and people who got the message before know its boundaries.
    """
    encoded = encode_text(text)
    if any(b"--" + boundary.encode() in encoded.body for boundary in boundaries):
        data = normalise_newlines(text.encode("utf-8", "replace"))
        packed = wrap_base64(b2a_base64(data, newline=False))
        return EncodedText("base64", b"".join(packed))
    return encoded


def _described(part: Part, header_fields: Iterable[Field], encoded: EncodedText) -> list[Field]:
    """Return a part's header fields with the content headers of its new text."""
    fields = list(header_fields)
    if encoded.encoding == (part.encoding or "7bit") == "7bit" and _charset(part) in _UTF_8:
        return fields
    transfer = f"Content-Transfer-Encoding: {encoded.encoding}\r\n".encode()
    described = rfc822.replace_field(fields, transfer)
    if part.parent is None and not rfc822.has(described, "mime-version"):
        described = rfc822.append(described, b"MIME-Version: 1.0\r\n")
    if part.parameters.get("charset", "").lower() == "utf-8":
        return described
    return rfc822.replace_field(described, _content_type(part))


def _content_type(part: Part) -> bytes:
    parameters = (
        f"{name}={value}" if _TOKEN.fullmatch(value) else f"{name}={_quoted(value)}"
        for name, value in (part.parameters | {"charset": "utf-8"}).items()
    )
    return encode_header("Content-Type", "; ".join([part.content_type, *parameters]))


def _charset(part: Part) -> str:
    """Return the charset under its usual name; a part without a charset counts as UTF-8."""
    return charset(part.parameters.get("charset", "utf-8"))


def _quoted(value: str) -> str:
    return '"' + re.sub(r'(["\\])', r"\\\1", value) + '"'
