"""Compose an unsigned message from rendered content: the headers, then the MIME tree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import format_datetime
from functools import lru_cache

from chalicelib.core.addresses import Mailbox
from chalicelib.generation import feedback_id as feedback_id_header
from chalicelib.mail_format.address_list import (
    ADDRESS_FIELDS,
    address_list_field,
    mailboxes_field,
    read_mailboxes,
)
from chalicelib.mail_format.files import Attachment, InlineImage
from chalicelib.mail_format.header_rules import senders_headers
from chalicelib.mail_format.headers import HeaderError, encode_header
from chalicelib.mail_format.mime import UnsignedMessage, build_message
from chalicelib.recipient_lists.stored_form import StoredRecipient
from chalicelib.template_language.chunks import Chunks


@dataclass(frozen=True, slots=True)
class Rendered:
    """The content of one message with everything substituted."""

    sender: Mailbox
    subject: str
    reply_to: str = ""
    text: Chunks | None = None
    html: Chunks | None = None
    amp_html: Chunks | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


def compose(
    content: Rendered,
    recipient: StoredRecipient,
    message_id: str,
    injected_ms: int,
    *,
    attachments: Sequence[Attachment] = (),
    inline_images: Sequence[InlineImage] = (),
    feedback_id: bytes = b"",
    reply_to: bytes = b"",
) -> UnsignedMessage:
    """Return the message for ``recipient`` (stored form); raises ``ValueError``.

    ``feedback_id`` is that header field, for content that has none; ``reply_to`` is the header
    field that stands in for the content's own.

    ``message_id`` also seeds the MIME boundaries, and ``injected_ms`` is the Date: composing
    the same message again gives the same bytes.
    """
    own_headers = senders_headers(content.headers)
    own_names = {name.lower() for name in own_headers}
    headers = [
        _from_header(content.sender),
        _to_header(recipient),
        encode_header("Subject", content.subject),
    ]
    if reply_to:
        headers.append(reply_to)
    elif content.reply_to.strip():
        headers.append(_reply_to_header(content.reply_to))
    if "date" not in own_names:
        headers.append(b"Date: " + _date(injected_ms // 1000) + b"\r\n")
    if "message-id" not in own_names:
        address = f"{message_id}@{content.sender.domain}"
        headers.append(f"Message-ID: <{address}>\r\n".encode())
    if feedback_id and feedback_id_header.NAME not in own_names:
        headers.append(feedback_id)
    headers += [_header(name, value) for name, value in own_headers.items()]
    return build_message(
        headers,
        text=content.text.texts if content.text else None,
        html=content.html.texts if content.html else None,
        amp_html=content.amp_html.texts if content.amp_html else None,
        attachments=attachments,
        inline_images=inline_images,
        boundary_seed=message_id,
    )


@lru_cache(maxsize=256)
def _from_header(sender: Mailbox) -> bytes:
    """Return the From header: the same in most messages that a process composes."""
    return mailboxes_field("From", [sender])


def _to_header(recipient: StoredRecipient) -> bytes:
    """Return the To header (spec 2.1): ``header_to`` stands in for the real address.

    The name belongs to an address without one. Those in a list have their own, or none. Lists that
    version 0.1.0 stored may have a ``header_to`` without addresses, which does not count (stays:
    lists are not rewritten).
    """
    visible, name = recipient.get("header_to"), recipient.get("name")
    mailboxes = read_mailboxes(visible) if visible else []
    mailboxes = mailboxes or [Mailbox(recipient["email"])]
    if name and len(mailboxes) == 1 and not mailboxes[0].name:
        mailboxes = [Mailbox(mailboxes[0].email, name)]
    return mailboxes_field("To", mailboxes)


@lru_cache(maxsize=256)
def _reply_to_header(value: str) -> bytes:
    mailboxes = read_mailboxes(value)
    if not mailboxes:
        raise HeaderError(f"header Reply-To: {value[:300]!r} is not a list of addresses")
    return mailboxes_field("Reply-To", mailboxes)


def _header(name: str, value: str) -> bytes:
    """Return a header as the content has it; in a list, names beyond ASCII are encoded alone."""
    is_list = name.lower() in ADDRESS_FIELDS and not value.isascii()
    return address_list_field(name, value) if is_list else encode_header(name, value)


@lru_cache(maxsize=16)
def _date(seconds: int) -> bytes:
    return format_datetime(datetime.fromtimestamp(seconds, UTC)).encode()
