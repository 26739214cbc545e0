"""A pre-built message as content: which places of it are templates, and how to fill them.

Substitution happens in the top-level header fields and in the first text/plain, text/html and
text/x-amp-html part that is no attachment (spec 2.2, RFC822 rule 1); all other bytes stay as they
are. ``Content-Type`` and ``Content-Transfer-Encoding`` say how to read the message and are never
filled in. A part that was filled leaves as UTF-8, in an encoding chosen for its new text.
"""

from __future__ import annotations

import re
from binascii import a2b_base64, a2b_qp, b2a_base64
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from chalicelib.mail_format import mime_tree, rfc822
from chalicelib.mail_format.headers import encode_header
from chalicelib.mail_format.rfc822 import Field, MessageError
from chalicelib.mail_format.transfer_encoding import (
    EncodedText,
    encode_text,
    normalise_newlines,
    wrap_base64,
)
from chalicelib.template_language import AMP_HTML, HTML, TEXT, Part, header
from chalicelib.templates.header_source import charset, field_of, source_of

__all__ = ["MessageError", "PrebuiltContent"]

_TEXT_PARTS = {"text/plain": TEXT, "text/html": HTML, "text/x-amp-html": AMP_HTML}
_HOW_TO_READ = frozenset({"content-type", "content-transfer-encoding"})
_UTF_8 = frozenset({"utf-8", "ascii"})
_TOKEN = re.compile(r"[!#-'*+\-.0-9A-Z^-~]+")
_TAG = "{{"

_Fill = Callable[[str, Part], str]


class PrebuiltContent:
    """A message whose parts are templates. Raises ``MessageError`` when spec 2.2 forbids it."""

    def __init__(self, message: bytes) -> None:
        message = rfc822.normalise(message)
        tree = rfc822.check(message)
        self._fields, body = rfc822.split(message)
        self._texts = _text_parts(message, tree)
        self._message = message
        self._body_start = len(message) - len(body)

    def filled(self, fill: _Fill) -> bytes:
        """Return the message with ``fill`` applied to every part that has a tag."""
        fields = [_filled_field(field, fill) for field in self._fields]
        pieces: list[bytes] = []
        at = self._body_start
        for text in self._texts:
            encoded = text.encoded(fill(text.source, text.kind))
            if text.place.parent is None:
                return rfc822.join(text.described(fields, encoded), encoded.body)
            section = text.described(text.fields, encoded)
            pieces += [self._message[at : text.place.start], rfc822.join(section, encoded.body)]
            at = text.place.end
        return rfc822.join(fields, b"".join([*pieces, self._message[at:]]))


@dataclass(frozen=True, slots=True)
class _TextPart:
    """A text part with a tag: its place in the message, its header fields and decoded text."""

    kind: Part
    place: mime_tree.Part
    fields: list[Field]
    source: str
    boundaries: tuple[bytes, ...]

    def encoded(self, text: str) -> EncodedText:
        """Encode the filled text so that no line of it can be taken for a delimiter.

        A value may be anybody's, and who was sent the message before knows its boundaries.
        """
        encoded = encode_text(text)
        if any(b"--" + boundary in encoded.body for boundary in self.boundaries):
            data = normalise_newlines(text.encode("utf-8", "replace"))
            packed = wrap_base64(b2a_base64(data, newline=False))
            return EncodedText("base64", b"".join(packed))
        return encoded

    def described(self, fields: Sequence[Field], encoded: EncodedText) -> list[Field]:
        """Return header fields that tell how the text is encoded."""
        place = self.place
        if encoded.encoding == (place.encoding or "7bit") == "7bit" and _charset(place) in _UTF_8:
            return list(fields)
        described = rfc822.replace(
            fields, f"Content-Transfer-Encoding: {encoded.encoding}\r\n".encode()
        )
        if place.parent is None and not rfc822.has(described, "mime-version"):
            described = rfc822.append(described, b"MIME-Version: 1.0\r\n")
        if place.parameters.get("charset", "").lower() == "utf-8":
            return described
        return rfc822.replace(described, self._content_type())

    def _content_type(self) -> bytes:
        parameters = self.place.parameters | {"charset": "utf-8"}
        written = (
            f"{name}={value}" if _TOKEN.fullmatch(value) else f"{name}={_quoted(value)}"
            for name, value in parameters.items()
        )
        return encode_header("Content-Type", "; ".join([self.place.content_type, *written]))


def _text_parts(message: bytes, tree: list[mime_tree.Part]) -> list[_TextPart]:
    """Return the parts to fill in, in the order in which they stand in the message."""
    found: dict[str, _TextPart | None] = {}
    for place in tree:
        kind = _TEXT_PARTS.get(place.content_type)
        if kind is None or place.content_type in found or place.disposition == "attachment":
            continue
        source = _decoded(message, place)
        if _TAG not in source:
            found[place.content_type] = None
            continue
        fields, _ = rfc822.split(message[place.start : place.end])
        found[place.content_type] = _TextPart(
            kind, place, fields, source, tuple(_boundaries(place, tree))
        )
    return [text for text in found.values() if text is not None]


def _boundaries(place: mime_tree.Part, tree: list[mime_tree.Part]) -> list[bytes]:
    """Return the boundaries of the multiparts around a part."""
    around = []
    while place.parent is not None:
        place = tree[place.parent]
        around.append(place.parameters["boundary"].encode())
    return around


def _decoded(message: bytes, place: mime_tree.Part) -> str:
    """Return the text of a part; raises ``MessageError`` when it is not in its own encoding."""
    body = message[place.body_start : place.end]
    try:
        if place.encoding == "base64":
            body = a2b_base64(body)
        elif place.encoding == "quoted-printable":
            body = a2b_qp(body)
        elif place.encoding not in ("", "7bit", "8bit", "binary"):
            raise MessageError(f"unknown Content-Transfer-Encoding {place.encoding[:80]!r}")
        charset = _charset(place)
        return body.decode("utf-8" if charset in _UTF_8 else charset)
    except (LookupError, ValueError) as fault:
        if isinstance(fault, MessageError):
            raise
        raise MessageError(f"the {place.content_type} part cannot be decoded") from None


def _charset(place: mime_tree.Part) -> str:
    """Return the charset under its usual name; a part that names none is taken for UTF-8."""
    return charset(place.parameters.get("charset", "utf-8"))


def _filled_field(field: Field, fill: _Fill) -> Field:
    name, raw = field
    source = None if name in _HOW_TO_READ else source_of(name, raw)
    if source is None:
        return field
    label = raw.partition(b":")[0].decode()
    return name, field_of(label, fill(source, header(label)))


def _quoted(value: str) -> str:
    return '"' + re.sub(r'(["\\])', r"\\\1", value) + '"'
