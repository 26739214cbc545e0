"""Drafts: a message for one recipient with everything substituted, before it is built and signed.

There is one kind of drafter for inline content and one for pre-built messages; a chunk uses one of
them for all of its recipients.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Protocol

from chalicelib.core.addresses import Mailbox
from chalicelib.generation.compose import compose
from chalicelib.generation.css import inline_css
from chalicelib.generation.overriding import overridden, overridden_header
from chalicelib.generation.prebuilt import GivenHeader
from chalicelib.generation.render import RenderFault, render
from chalicelib.generation.substitution import Substitution, fills_bodies
from chalicelib.generation.tracking_decorator import Dress
from chalicelib.mail_format.mime import Attachment, InlineImage
from chalicelib.template_language import AMP_HTML, HTML, TemplateError
from chalicelib.templates.parts import Fill
from chalicelib.templates.prebuilt import TAG, PrebuiltContent, TextPart
from chalicelib.tracking.literal_links import unmark
from chalicelib.transmissions.copies import with_own_bcc
from chalicelib.transmissions.model import Json, Transmission


@dataclass(frozen=True, slots=True)
class Draft:
    """Who a message is from and about what, and how to build it once it has an id and a dress.

    ``has_markup``: there is a part that takes pixels; ``has_amp``: one is AMP.
    """

    sender: Mailbox
    subject: str
    has_markup: bool
    has_amp: bool
    build: Callable[[str, Dress], bytes]


class Drafter(Protocol):
    """Makes drafts; raises :class:`RenderFault` or ``ValueError`` for one that cannot be made."""

    @property
    def sender(self) -> str:
        """The From that all drafts have, as it stands in the content, or the one of a template."""
        ...

    def draft(self, recipient: Json, env_from: str | None = None) -> Draft:
        """Return the draft for a recipient; building it raises the same faults.

        ``env_from`` is the envelope sender that templates may name, if it is known.
        """
        ...


def drafter(sent: Transmission, at_ms: int) -> Drafter:
    """Return the drafter for a transmission; ``at_ms`` becomes the Date of its messages."""
    return MessageDrafter(sent, at_ms) if sent.raw else InlineDrafter(sent, at_ms)


class InlineDrafter:
    """Inline content: each part is rendered, and the MIME tree is ours."""

    def __init__(self, sent: Transmission, at_ms: int) -> None:
        self._sent = sent
        self._at_ms = at_ms
        self._substitution = Substitution(sent)
        self._verbatim = not fills_bodies(sent)
        self._attachments = [Attachment(**file) for file in sent.content.get("attachments", [])]
        self._images = [InlineImage(**file) for file in sent.content.get("inline_images", [])]

    @property
    def sender(self) -> str:
        """Return the From as it stands."""
        given = self._sent.override.get("from") or self._sent.content["from"]
        return given if isinstance(given, str) else given["email"]

    def draft(self, recipient: Json, env_from: str | None = None) -> Draft:
        """Render the content for a recipient."""
        fill = self._substitution.fill(recipient, env_from)
        content = render(self._sent.content, fill, verbatim_bodies=self._verbatim)
        content = overridden(content, self._sent.override)
        if self._sent.options.get("inline_css") and content.html:
            content = replace(content, html=inline_css(content.html))
        return Draft(
            content.sender,
            content.subject,
            has_markup=content.html is not None or content.amp_html is not None,
            has_amp=content.amp_html is not None,
            build=lambda message_id, dress: compose(
                dress.content(content),
                recipient,
                message_id,
                self._at_ms,
                attachments=self._attachments,
                inline_images=self._images,
            ),
        )


class MessageDrafter:
    """A pre-built message: a template (spec 2.2), or one from SMTP that goes out as it is."""

    def __init__(self, sent: Transmission, at_ms: int) -> None:
        self._sent = sent
        self._at_ms = at_ms
        self._content = PrebuiltContent(sent.raw, as_given=not sent.substitute)
        self._substitution = Substitution(sent) if sent.substitute else None
        self._fills_bodies = fills_bodies(sent)
        kinds = {part.kind for part in self._content.texts if not part.is_sealed}
        self._has_amp = AMP_HTML in kinds
        self._has_markup = self._has_amp or HTML in kinds

    @property
    def sender(self) -> str:
        """Return the From as it stands."""
        header = overridden_header(GivenHeader(self._content.fields), self._sent.override)
        return header.sender.email

    def draft(self, recipient: Json, env_from: str | None = None) -> Draft:
        """Fill the header fields in for a recipient, and the texts when it is built."""
        fill = self._substitution.fill(recipient, env_from) if self._substitution else None
        fields = self._content.fields
        if fill:
            with _told_as_fault():
                fields = self._content.filled_fields(fill)
        header = GivenHeader(with_own_bcc(fields, recipient))
        header = overridden_header(header, self._sent.override)

        def build(message_id: str, dress: Dress) -> bytes:
            fields = header.completed(message_id, self._at_ms, dress.headers)
            with _told_as_fault():
                texts = [(part, self._text(part, fill, dress)) for part in self._content.texts]
            changed = [(part, text) for part, text in texts if text != part.source]
            return self._content.assembled(fields, changed)

        return Draft(header.sender, header.subject, self._has_markup, self._has_amp, build)

    def _text(self, part: TextPart, fill: Fill | None, dress: Dress) -> str:
        """Return the text that a part is to have; it is its own where nothing changes."""
        text = part.source
        if part.is_sealed and TAG not in text:
            return text
        if fill and self._fills_bodies:
            text = fill(text, part.kind)
        if part.is_sealed:
            return unmark(text)
        if self._sent.options.get("inline_css") and part.kind is HTML:
            text = inline_css(text)
        return dress.body(text, part.kind)


@contextmanager
def _told_as_fault() -> Iterator[None]:
    """Turn the template language's errors into :class:`RenderFault`."""
    try:
        yield
    except TemplateError as error:
        raise RenderFault(f"[internal] {error.description}") from None
