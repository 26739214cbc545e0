"""Show received messages as the API does."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from chalicelib.core import clock
from chalicelib.core.json_types import Json
from chalicelib.core.reply import bytes_in_reply
from chalicelib.core.settings import settings
from chalicelib.received_mail import attachment_urls, reply_text
from chalicelib.received_mail.model import (
    Attachment,
    MessageSummary,
    ParsedMessage,
    ReceivedMessage,
)

#: Characters of a text that a reply has room for in any case
_SHORT: Final = 100_000


def summary_view(message: MessageSummary) -> Json:
    """Return a message as a list shows it."""
    return {
        "id": message.id,
        "received_at": clock.iso_ms(message.received_ms),
        "domain": message.domain,
        "rcpt_to": message.rcpt_to,
        "msg_from": message.mail_from,
        "friendly_from": message.friendly_from,
        "subject": message.subject,
        "tag": message.tag,
        "size": message.size,
        "attachments": message.attachments,
        "action": message.action,
        "subaccount_id": message.subaccount_id or 0,
    }


def message_view(message: ReceivedMessage, parsed: ParsedMessage) -> Json:
    """Return a message with its content.

    ``is_cut`` tells that the reply has no room for all of its text and html.
    """
    view = _message_view(message, parsed)
    if bytes_in_reply(view) <= settings().max_reply_bytes:
        return view
    short = replace(parsed, text=_cut(parsed.text), html=_cut(parsed.html))
    return _message_view(message, short) | {"is_cut": True}


def attachment_view(message: ReceivedMessage, attachment: Attachment) -> Json:
    """Return an attachment; anybody can fetch it at ``url`` for as long as the message is kept."""
    expires_ms = attachment_urls.expiry_ms(message.received_ms)
    return {
        "number": attachment.number,
        "name": attachment.name,
        "type": attachment.type,
        "size": attachment.size,
        "content_id": attachment.content_id,
        "inline": attachment.is_inline,
        "url": attachment_urls.url_of(message.id, attachment.number, expires_ms),
    }


def _message_view(message: ReceivedMessage, parsed: ParsedMessage) -> Json:
    return {
        "id": message.id,
        "received_at": clock.iso_ms(message.received_ms),
        "expires_at": clock.iso_ms(attachment_urls.expiry_ms(message.received_ms)),
        "domain": message.domain,
        "subaccount_id": message.subaccount_id or 0,
        "rcpt_to": message.rcpt_to,
        "msg_from": message.mail_from,
        "friendly_from": parsed.friendly_from,
        "tag": message.tag,
        "size": message.size,
        "peer_ip": message.peer_ip,
        "helo": message.helo,
        "tls": message.tls,
        "verdicts": message.verdicts,
        "automatic": parsed.is_automatic,
        "in_reply_to": message.in_reply_to,
        "content": {
            "subject": parsed.subject,
            "to": list(parsed.to),
            "cc": list(parsed.cc),
            "headers": [{name: value} for name, value in parsed.headers],
            "text": parsed.text,
            "html": parsed.html,
        },
        "reply_text": reply_text.of(parsed),
        "attachments": [attachment_view(message, each) for each in parsed.attachments],
        "action": message.action,
        "forward_to": message.forward_to,
        "relay": _relay_view(message),
        "is_cut": False,
    }


def _cut(text: str | None) -> str | None:
    return None if text is None else text[:_SHORT]


def _relay_view(message: ReceivedMessage) -> Json | None:
    """Return where to see how posting the message to its relay webhook went."""
    if not message.webhook_id:
        return None
    batch = f"/api/v1/relay-webhooks/{message.webhook_id}/batches/{message.id}"
    return {"webhook_id": message.webhook_id, "batch_id": message.id, "batch": batch}
