"""Fill in the templates of a pre-built message (``email_rfc822``).

Substitution happens in the top-level header fields and in the first text/plain, text/html and
text/x-amp-html part that is no attachment (spec 2.2, RFC822 rule 1); all other bytes stay as they
are. ``Content-Type`` and ``Content-Transfer-Encoding`` say how to read the message and are never
filled in.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from typing import Final

from chalicelib.mail_format import mime_tree, part_encoding, rfc822, text_parts
from chalicelib.mail_format.header_rules import written_value
from chalicelib.mail_format.rfc822 import Field, MessageError
from chalicelib.template_language import AMP_HTML, HTML, TEXT, Part, header
from chalicelib.templates.header_source import field_of, source_of

__all__ = ["MessageError", "PrebuiltContent", "TextPart"]

TAG: Final = "{{"

_KINDS = {text_parts.PLAIN: TEXT, text_parts.HTML: HTML, text_parts.AMP: AMP_HTML}
_HOW_TO_READ = frozenset({"content-type", "content-transfer-encoding"})

_Fill = Callable[[str, Part], str]


@dataclass(frozen=True, slots=True)
class TextPart:
    """A text of the message: what kind of part it is, where, and its source.

    ``is_sealed``: it is covered by a signature that a change would break.
    """

    kind: Part
    place: mime_tree.Part
    source: str
    is_sealed: bool


class PrebuiltContent:
    """A message whose parts are templates. Raises ``MessageError`` when spec 2.2 forbids it.

    ``as_given``: it is no template, but came finished and is sent as it is. Then only its header
    section must be well-formed, and parts that cannot be read are not changed.
    """

    def __init__(self, message: bytes, *, as_given: bool = False) -> None:
        self._message = message if as_given else rfc822.normalise(message)
        self.fields, _ = rfc822.split(self._message)
        self._tree = self._readable_tree() if as_given else rfc822.check(self._message)
        texts = [self._text(part, as_given) for part in text_parts.find(self._tree)]
        self.texts = [text for text in texts if text]

    def check_encodings(self) -> None:
        """Raise ``MessageError`` for a part that no mail reader can decode, be it no text."""
        part_encoding.check_encodings(self._message, self._tree)

    def filled(self, fill: _Fill) -> bytes:
        """Return the message with ``fill`` applied to every part that has a tag."""
        fields = self.filled_fields(fill)
        texts = [(t, fill(t.source, t.kind)) for t in self.texts if TAG in t.source]
        return self.assembled(fields, texts)

    def filled_fields(
        self, fill: _Fill, only: str | None = None, besides: Container[str] = ()
    ) -> list[Field]:
        """Return the header fields with ``fill`` applied to those that have a tag.

        One that becomes empty is left out, but for Subject: no other may be empty (RFC 5322 3.6).
        ``only`` is the name of the fields to which it is applied, and ``besides`` has those to
        which it is not, in lower case.
        """
        fields = (
            _filled_field(field, fill)
            if only in (None, field[0]) and field[0] not in besides
            else field
            for field in self.fields
        )
        return [field for field in fields if field]

    def assembled(self, fields: Sequence[Field], texts: Sequence[tuple[TextPart, str]]) -> bytes:
        """Return the message with these header fields, and with other texts in some parts."""
        places = [(part.place, text) for part, text in texts]
        return text_parts.replaced(self._message, self._tree, fields, places)

    def _readable_tree(self) -> list[mime_tree.Part]:
        try:
            return mime_tree.parse_tree(self._message)
        except MessageError:
            return []

    def _text(self, place: mime_tree.Part, as_given: bool) -> TextPart | None:
        try:
            source = text_parts.read(self._message, place)
        except MessageError:
            if as_given:
                return None
            raise
        sealed = text_parts.is_sealed(place, self._tree)
        return TextPart(_KINDS[place.content_type], place, source, sealed)


def _filled_field(field: Field, fill: _Fill) -> Field | None:
    name, raw = field
    source = None if name in _HOW_TO_READ else source_of(name, raw)
    if source is None:
        return field
    label = raw.partition(b":")[0].decode()
    value = written_value(name, fill(source, header(label)))
    return (name, field_of(label, value)) if value or name == "subject" else None
