"""Draft messages: fill in the content for one recipient, before the message is built and signed.

There is one kind of drafter for inline content and one for pre-built messages; a chunk uses one of
them for all of its recipients.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

from chalicelib.core.addresses import Mailbox
from chalicelib.generation.compose import Rendered, compose
from chalicelib.generation.css import CssInliner
from chalicelib.generation.faults import template_errors_as_faults
from chalicelib.generation.feedback_id import feedback_id_field
from chalicelib.generation.prebuilt import OVERRIDING, PrebuiltHeader
from chalicelib.generation.render import from_source, render, render_sender, render_subject
from chalicelib.generation.reply_to import ReplyTo, name_of
from chalicelib.generation.substitution import Substitution, fills_bodies
from chalicelib.generation.tracking_decorator import MessageTracking
from chalicelib.mail_format import rfc822
from chalicelib.mail_format.files import Attachment, InlineImage
from chalicelib.mail_format.from_field import display_name, values_of
from chalicelib.mail_format.mime import UnsignedMessage
from chalicelib.mail_format.rfc822 import Field
from chalicelib.recipient_lists.stored_form import StoredRecipient
from chalicelib.template_language import HTML, TemplateError
from chalicelib.template_language.chunks import literal
from chalicelib.templates.parts import Fill
from chalicelib.templates.prebuilt import PrebuiltContent, TextPart
from chalicelib.transmissions.copies import of_copy
from chalicelib.transmissions.model import Transmission


@dataclass(frozen=True, slots=True)
class Draft:
    """The sender and subject of a message, and ``build``, which makes the message.

    ``build`` takes the message id and the tracking of the message.
    """

    sender: Mailbox
    subject: str
    build: Callable[[str, MessageTracking], UnsignedMessage]


class Drafter(Protocol):
    """Makes drafts; raises :class:`RenderFault` or ``ValueError`` where it cannot.

    ``has_markup``: the messages have a part that can hold pixels; ``has_amp``: one part is AMP.
    """

    has_markup: bool
    has_amp: bool

    @property
    def sender(self) -> str:
        """The From of all drafts as the content has it, which may be a template."""
        ...

    def draft(self, recipient: StoredRecipient, env_from: str | None = None) -> Draft:
        """Return the draft for a recipient; building it raises the same faults.

        ``env_from`` is the envelope sender, which templates may use, if it is known yet.
        """
        ...

    def sender_of(self, recipient: StoredRecipient) -> Mailbox:
        """Return the From for a recipient of whom there may be no draft."""
        ...

    def subject_of(self, recipient: StoredRecipient) -> str:
        """Return the subject for a recipient of whom there may be no draft."""
        ...


def drafter(transmission: Transmission, injected_ms: int) -> Drafter:
    """Return the drafter for a transmission; ``injected_ms`` becomes the Date of its messages."""
    if transmission.raw:
        return PrebuiltDrafter(transmission, injected_ms)
    return InlineDrafter(transmission, injected_ms)


class InlineDrafter:
    """Drafts messages of inline content: each part is rendered, and the MIME tree is ours."""

    def __init__(self, transmission: Transmission, injected_ms: int) -> None:
        content = transmission.content
        self._transmission = transmission
        self._injected_ms = injected_ms
        self._css = CssInliner()
        self._substitution = Substitution(transmission)
        self._verbatim = not fills_bodies(transmission)
        self._attachments = [Attachment(**file) for file in content.get("attachments", [])]
        self._feedback_id = feedback_id_field(transmission)
        self._images = [InlineImage(**file) for file in content.get("inline_images", [])]
        self._reply_to = ReplyTo(transmission, injected_ms)
        self.has_amp = bool(content.get("amp_html"))
        self.has_markup = self.has_amp or bool(content.get("html"))

    @property
    def sender(self) -> str:
        """Return the From as the content has it."""
        override, content = self._transmission.override, self._transmission.content
        return from_source(override if override.get("from") else content)

    def draft(self, recipient: StoredRecipient, env_from: str | None = None) -> Draft:
        """Render the content for a recipient."""
        content = render(
            self._transmission.content,
            self._substitution.filling(recipient, env_from),
            self._transmission.override,
            verbatim_bodies=self._verbatim,
        )
        if self._transmission.options.get("inline_css") and content.html:
            content = replace(content, html=literal(self._css.inlined(str(content.html))))
        return Draft(
            content.sender,
            content.subject,
            build=lambda message_id, tracking: compose(
                tracking.content(content),
                self._addressee(recipient),
                message_id,
                self._injected_ms,
                attachments=self._attachments,
                inline_images=self._images,
                feedback_id=self._feedback_id,
                reply_to=self._reply_field(message_id, content),
            ),
        )

    def _reply_field(self, message_id: str, content: Rendered) -> bytes:
        if not self._reply_to:
            return b""
        return self._reply_to.field(message_id, name_of(content.reply_to, content.sender))

    def _addressee(self, recipient: StoredRecipient) -> StoredRecipient:
        """Return whom To shows; a sandbox send shows no name, which would be a caller's text."""
        return {"email": recipient["email"]} if self._transmission.is_sandbox else recipient

    def sender_of(self, recipient: StoredRecipient) -> Mailbox:
        """Render the From for a recipient."""
        fill = self._substitution.filling(recipient).text
        return render_sender(self._transmission.content, fill, self._transmission.override)

    def subject_of(self, recipient: StoredRecipient) -> str:
        """Render the subject for a recipient."""
        return render_subject(
            self._transmission.content, self._substitution.filling(recipient).text
        )


class PrebuiltDrafter:
    """Drafts a pre-built message: a template (spec 2.2), or one from SMTP that stays as it is."""

    def __init__(self, transmission: Transmission, injected_ms: int) -> None:
        substitute = transmission.substitute
        self._transmission = transmission
        self._injected_ms = injected_ms
        self._css = CssInliner()
        self._content = PrebuiltContent(transmission.raw, as_given=not substitute)
        self._substitution = Substitution(transmission) if substitute else None
        self._fills_bodies = fills_bodies(transmission)
        override = transmission.override
        self._replaced_names = {OVERRIDING[key] for key, value in override.items() if value}
        self._feedback_id = feedback_id_field(transmission)
        self._reply_to = ReplyTo(transmission, injected_ms)
        self.has_amp = self._content.has_amp
        self.has_markup = self._content.has_markup

    @property
    def sender(self) -> str:
        """Return the From as the message has it."""
        return self._overridden(self._content.fields, str).sender.email

    def draft(self, recipient: StoredRecipient, env_from: str | None = None) -> Draft:
        """Fill in the header fields for a recipient; building fills in the texts."""
        fill = self._fill(recipient, env_from)
        fields = of_copy(self._fields(fill), recipient)
        header = self._overridden(fields, lambda: self._name(fill))

        def build(message_id: str, tracking: MessageTracking) -> UnsignedMessage:
            fields = header.completed(
                message_id,
                self._injected_ms,
                tracking.headers,
                self._feedback_id,
                self._reply_to.field(message_id, header.reply_name) if self._reply_to else b"",
            )
            with template_errors_as_faults():
                texts = [(part, self._text(part, fill, tracking)) for part in self._content.texts]
            changes = [(part, text) for part, text in texts if text != part.source]
            if changes:
                return UnsignedMessage(self._content.assembled(fields, changes))
            return UnsignedMessage(rfc822.join(fields, b""), tail=self._content.body)

        return Draft(header.sender, header.subject, build)

    def sender_of(self, recipient: StoredRecipient) -> Mailbox:
        """Fill in the From for a recipient."""
        return self._overridden(self._fields(self._fill(recipient), only="from"), str).sender

    def subject_of(self, recipient: StoredRecipient) -> str:
        """Fill in the subject for a recipient."""
        return PrebuiltHeader(self._fields(self._fill(recipient), only="subject")).subject

    def _fill(self, recipient: StoredRecipient, env_from: str | None = None) -> Fill | None:
        substitution = self._substitution
        return substitution.filling(recipient, env_from).text if substitution else None

    def _fields(self, fill: Fill | None, only: str | None = None) -> list[Field]:
        """Return the header fields, filled in if the message is a template.

        Those that the override replaces are not.
        """
        if fill is None:
            return self._content.fields
        with template_errors_as_faults():
            return self._content.filled_fields(fill, only, self._replaced_names)

    def _overridden(self, fields: list[Field], name: Callable[[], str]) -> PrebuiltHeader:
        return PrebuiltHeader(fields).overridden(self._transmission.override, name)

    def _name(self, fill: Fill | None) -> str:
        """Return the name in the message's own From, whose address may be anything."""
        try:
            fields = self._content.filled_fields(fill, "from") if fill else self._content.fields
        except (TemplateError, ValueError):
            return ""
        return display_name(values_of(fields, "from"))

    def _text(self, part: TextPart, fill: Fill | None, tracking: MessageTracking) -> str:
        """Return the text that a part is to have: its own where nothing changes."""
        text = part.source
        if part.is_sealed:
            return text
        if fill and self._fills_bodies:
            text = fill(text, part.kind)
        if self._transmission.options.get("inline_css") and part.kind is HTML:
            text = self._css.inlined(text)
        return tracking.body(text, part.kind)
