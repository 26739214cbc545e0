"""Drafts: a message for one recipient with everything substituted, before it is built and signed.

There is one kind of drafter for inline content and one for pre-built messages; a chunk uses one of
them for all of its recipients.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

from chalicelib.core.addresses import Mailbox, read_mailbox
from chalicelib.generation.compose import Rendered, compose
from chalicelib.generation.css import inline_css
from chalicelib.generation.prebuilt import Prebuilt
from chalicelib.generation.render import RenderFault, render
from chalicelib.mail_format import rfc822
from chalicelib.mail_format.headers import Address, encode_addresses, encode_header
from chalicelib.mail_format.mime import Attachment, InlineImage
from chalicelib.mail_format.rfc822 import Field
from chalicelib.snippets import store as snippets
from chalicelib.template_language import TemplateError, merge_data
from chalicelib.templates.parts import Fill, renderer
from chalicelib.templates.prebuilt import PrebuiltContent
from chalicelib.transmissions.list_id import header_of
from chalicelib.transmissions.model import Transmission

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Draft:
    """Who a message is from and about what, and how to build it once its id is known."""

    sender: Mailbox
    subject: str
    build: Callable[[str], bytes]


class Drafter(Protocol):
    """Makes drafts; raises :class:`RenderFault` or ``ValueError`` for one that cannot be made."""

    def draft(self, recipient: Json) -> Draft:
        """Return the draft for a recipient."""
        ...


def drafter(sent: Transmission, at_ms: int) -> Drafter:
    """Return the drafter for a transmission; ``at_ms`` becomes the Date of its messages."""
    if not sent.raw:
        return InlineDrafter(sent, at_ms)
    return TemplateMessageDrafter(sent, at_ms) if sent.substitute else MessageDrafter(sent, at_ms)


class _Substitution:
    """The data of a transmission, ready to be merged with each recipient's."""

    def __init__(self, sent: Transmission) -> None:
        self._sent = sent
        self._snippets = snippets.source(sent.account_id, sent.subaccount_id)

    def fill(self, recipient: Json) -> Fill:
        """Return what renders the parts of a recipient's message."""
        sent = self._sent
        data = merge_data(
            transmission_metadata=sent.metadata,
            transmission_data=sent.substitution_data,
            recipient_metadata=recipient.get("metadata"),
            recipient_data=recipient.get("substitution_data"),
            address=recipient,
            return_path=recipient.get("return_path") or sent.return_path or None,
        )
        return renderer(data, sent.substitution_data, self._snippets)


class InlineDrafter:
    """Inline content: each part is rendered, and the MIME tree is ours."""

    def __init__(self, sent: Transmission, at_ms: int) -> None:
        self._sent = sent
        self._at_ms = at_ms
        self._substitution = _Substitution(sent)
        self._verbatim = sent.options.get("perform_substitutions") is False
        self._attachments = [Attachment(**file) for file in sent.content.get("attachments", [])]
        self._images = [InlineImage(**file) for file in sent.content.get("inline_images", [])]

    def draft(self, recipient: Json) -> Draft:
        """Render the content for a recipient."""
        fill = self._substitution.fill(recipient)
        content = render(self._sent.content, fill, verbatim_bodies=self._verbatim)
        content = overridden(content, self._sent.override)
        if self._sent.options.get("inline_css") and content.html:
            content = replace(content, html=inline_css(content.html))
        return Draft(
            content.sender,
            content.subject,
            lambda message_id: compose(
                content,
                recipient,
                message_id,
                self._at_ms,
                attachments=self._attachments,
                inline_images=self._images,
            ),
        )


class MessageDrafter:
    """A pre-built message that is no template: it goes out as it is."""

    def __init__(self, sent: Transmission, at_ms: int) -> None:
        self._override = sent.override
        self._raw = sent.raw
        self._at_ms = at_ms

    @cached_property
    def _message(self) -> Prebuilt:
        return overridden_message(Prebuilt(self._raw, self._at_ms), self._override)

    def draft(self, recipient: Json) -> Draft:
        """Return the same draft for every recipient."""
        return Draft(self._message.sender, self._message.subject, self._message.build)


class TemplateMessageDrafter:
    """A pre-built message whose header and text parts are templates (spec 2.2)."""

    def __init__(self, sent: Transmission, at_ms: int) -> None:
        self._override = sent.override
        self._content = PrebuiltContent(sent.raw)
        self._at_ms = at_ms
        self._substitution = _Substitution(sent)

    def draft(self, recipient: Json) -> Draft:
        """Fill the message in for a recipient."""
        try:
            raw = self._content.filled(self._substitution.fill(recipient))
        except TemplateError as error:
            raise RenderFault(f"[internal] {error.description}") from None
        message = overridden_message(Prebuilt(raw, self._at_ms), self._override)
        return Draft(message.sender, message.subject, message.build)


def overridden(content: Rendered, override: Json) -> Rendered:
    """Return rendered content with the transmission's ``override`` in force (spec 2.1)."""
    sender = content.sender
    if override.get("from"):
        sender = _overriding_sender(override["from"], sender.name)
    headers = dict(content.headers)
    if override.get("list_id"):
        name, value = header_of(override["list_id"])
        headers = {k: v for k, v in headers.items() if k.lower() != name.lower()} | {name: value}
    reply_to = override.get("reply_to") or content.reply_to
    return replace(content, sender=sender, reply_to=reply_to, headers=headers)


def overridden_message(message: Prebuilt, override: Json) -> Prebuilt:
    """Return a pre-built message with ``override`` in force."""
    fields: list[Field] = message.fields
    if override.get("from"):
        sender = _overriding_sender(override["from"], _own_name(message))
        address = Address(sender.name or None, sender.email)
        fields = rfc822.replace(fields, encode_addresses("From", [address]))
    if override.get("reply_to"):
        fields = rfc822.replace(fields, encode_header("Reply-To", override["reply_to"]))
    if override.get("list_id"):
        fields = rfc822.replace(fields, encode_header(*header_of(override["list_id"])))
    return message if fields is message.fields else message.with_fields(fields)


def _own_name(message: Prebuilt) -> str:
    """Return the name in a message's own From, which need not be a good one."""
    try:
        return message.sender.name
    except ValueError:
        return ""


def _overriding_sender(given: str | Json, name: str) -> Mailbox:
    text = given if isinstance(given, str) else given["email"]
    mailbox = read_mailbox(text)
    if mailbox is None:
        raise RenderFault(f"[internal] override.from is an invalid address: {text[:300]!r}")
    own_name = mailbox.name if isinstance(given, str) else given.get("name") or mailbox.name
    return Mailbox(mailbox.email, own_name or name)
