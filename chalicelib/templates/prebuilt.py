"""Fill in the templates of a pre-built message (``email_rfc822``).

Substitution happens in the top-level header fields and in the first text/plain, text/html and
text/x-amp-html part that is no attachment (spec 2.2, RFC822 rule 1), unless its author has signed
it. ``Content-Type`` and ``Content-Transfer-Encoding`` say how to read the message and are never
filled in. All other parts stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from typing import Final

from chalicelib.mail_format import armor, mime_tree, part_encoding, rfc822, text_parts
from chalicelib.mail_format.header_rules import written_value
from chalicelib.mail_format.header_section import split_head
from chalicelib.mail_format.mime import Tail
from chalicelib.mail_format.rfc822 import Field, MessageError
from chalicelib.mail_format.seven_bit import seven_bit
from chalicelib.mail_format.signed_parts import is_sealed
from chalicelib.template_language import AMP_HTML, HTML, TEXT, TemplatePart, header
from chalicelib.templates.header_source import field_of, source_of

__all__ = ["MessageError", "PrebuiltContent", "TextPart"]

TAG: Final = "{{"

_KINDS = {text_parts.PLAIN: TEXT, text_parts.HTML: HTML, text_parts.AMP: AMP_HTML}
_HOW_TO_READ = frozenset({"content-type", "content-transfer-encoding"})

_Fill = Callable[[str, TemplatePart], str]


@dataclass(frozen=True, slots=True)
class TextPart:
    """A text of the message: what kind of part it is, where, and its source.

    ``is_sealed``: it is covered by a signature that a change would break, so it is no template.
    """

    kind: TemplatePart
    place: mime_tree.MimePart
    source: str
    is_sealed: bool

    @property
    def has_tag(self) -> bool:
        """Whether the text is a template."""
        return TAG in self.source and not self.is_sealed


class PrebuiltContent:
    """A message whose parts are templates. Raises ``MessageError`` when spec 2.2 forbids it.

    ``as_given``: it is no template, but came finished and is sent as it is. Then only its header
    section must be well-formed, and parts that cannot be read are not changed. Either kind is
    brought into the form that every host takes (``mail_format.seven_bit``). ``is_new``: it comes
    from a caller, so each of its parts must be one that mail readers can decode.
    """

    def __init__(self, message: bytes, *, as_given: bool = False, is_new: bool = False) -> None:
        self._as_given = as_given
        message = message if as_given else rfc822.normalise(message)
        rfc822.split(message)
        tree = mime_tree.readable_tree(message) if as_given else rfc822.check(message)
        if is_new:
            part_encoding.check_encodings(message, tree)
        self._message, self._tree = self._seven_bit(message, tree)
        self.fields, _ = rfc822.split(self._message)
        texts = [self._text(part) for part in text_parts.find(self._tree)]
        self.texts = [text for text in texts if text]

    @property
    def has_amp(self) -> bool:
        """Tell whether there is an AMP part that may be changed."""
        return AMP_HTML in self._changeable_kinds

    @property
    def has_markup(self) -> bool:
        """Tell whether there is a part that can hold pixels."""
        return self.has_amp or HTML in self._changeable_kinds

    @property
    def _changeable_kinds(self) -> set[TemplatePart]:
        return {part.kind for part in self.texts if not part.is_sealed}

    @property
    def body(self) -> Tail:
        """Return what follows the header section, as it is without other texts."""
        return Tail(self._message, split_head(self._message, 0, len(self._message))[1])

    def filled(self, fill: _Fill) -> bytes:
        """Return the message with ``fill`` applied to every part that has a tag."""
        fields = self.filled_fields(fill)
        texts = [(t, fill(t.source, t.kind)) for t in self.texts if t.has_tag]
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
        """Return the message with these header fields, and with other texts in some parts.

        Raises ``MessageError`` for a text that no host takes and that no header describes.
        """
        places = [(part.place, text) for part, text in texts]
        return text_parts.replaced(
            self._message, self._tree, fields, places, describes=self._as_given
        )

    def _seven_bit(
        self, message: bytes, tree: list[mime_tree.MimePart]
    ) -> tuple[bytes, list[mime_tree.MimePart]]:
        """Return the message in the form that every host takes, and its parts.

        Fields with tags are encoded when they are filled. The author of a template describes its
        parts (spec 2.2, RFC822 rule 6).
        """
        keeps = (lambda _: False) if self._as_given else _is_template
        converted = seven_bit(message, tree, keeps=keeps, describes=self._as_given)
        return converted, tree if converted is message else mime_tree.readable_tree(converted)

    def _text(self, place: mime_tree.MimePart) -> TextPart | None:
        try:
            source = text_parts.read(self._message, place)
        except MessageError:
            if self._as_given:
                return None
            raise
        # A transfer encoding may hide from the octets what the text shows
        is_signed = any(block.is_signed_text for block in armor.blocks(source))
        sealed = is_signed or is_sealed(self._message, place, self._tree)
        return TextPart(_KINDS[place.content_type], place, source, sealed)


def _is_template(field: Field) -> bool:
    name, raw = field
    return name not in _HOW_TO_READ and source_of(name, raw) is not None


def _filled_field(field: Field, fill: _Fill) -> Field | None:
    name, raw = field
    source = None if name in _HOW_TO_READ else source_of(name, raw)
    if source is None:
        return field
    label = raw.partition(b":")[0].decode()
    value = written_value(name, fill(source, header(label)))
    return (name, field_of(label, value)) if value or name == "subject" else None
