"""Build what is posted to a relay webhook: one received message in JSON (docs/relay-webhooks.md).

The body follows from the message alone, so that each attempt and each redelivery posts the same
bytes. It is written in pieces and read in pieces: a message of 20 MB needs no more memory than one
of 2 MB.
"""

from __future__ import annotations

import base64

from chalicelib.core.json_types import Json
from chalicelib.core.settings import settings
from chalicelib.core.spool import Octets, Spool, pieces_of
from chalicelib.received_mail import attachment_urls, parsing, reply_text
from chalicelib.received_mail.model import Attachment, ParsedMessage, ReceivedMessage
from chalicelib.relaying.json_writer import JsonWriter, is_utf8
from chalicelib.webhooks.names import names


def build(message: ReceivedMessage, parsed: ParsedMessage, octets: Octets) -> Spool:
    """Return the body for a message; ``octets`` are its raw message. The caller closes it."""
    body = Spool()
    try:
        _write(JsonWriter(body), message, parsed, octets)
    except BaseException:
        body.close()
        raise
    return body


def _write(
    writer: JsonWriter, message: ReceivedMessage, parsed: ParsedMessage, octets: Octets
) -> None:
    writer.raw('[{"' + names().wrapper + '":{"relay_message":{"content":{')
    _write_content(writer, parsed, octets)
    writer.raw("}")
    writer.fields(
        {
            "friendly_from": parsed.friendly_from,
            "msg_from": message.mail_from,
            "rcpt_to": message.rcpt_to,
            "webhook_id": message.webhook_id,
            "customer_id": str(message.account_id),
            "protocol": "smtp",
            "relay_id": message.id,
            "reply_text": reply_text.of(parsed),
            "in_reply_to": message.in_reply_to,
            "tag": message.tag,
            "verdicts": message.verdicts,
        }
    )
    writer.raw(',"attachments":[')
    for number, attachment in enumerate(parsed.attachments):
        writer.raw("," if number else "")
        writer.value(_attachment(message, attachment, octets))
    writer.raw("]}}}]")


def _write_content(writer: JsonWriter, parsed: ParsedMessage, octets: Octets) -> None:
    writer.fields(
        {
            "html": parsed.html,
            "text": parsed.text,
            "subject": parsed.subject,
            "to": parsed.to,
            "cc": parsed.cc,
            "headers": [{name: value} for name, value in parsed.headers],
        },
        is_first=True,
    )
    is_text = is_utf8(octets)
    writer.raw(',"email_rfc822_is_base64":' + ("false" if is_text else "true"))
    writer.raw(',"email_rfc822":')
    if is_text:
        writer.utf8(octets)
    else:
        writer.base64(pieces_of(octets))


def _attachment(message: ReceivedMessage, attachment: Attachment, octets: Octets) -> Json:
    """Return one attachment, with its data in base64 if it is small."""
    expires_ms = attachment_urls.expiry_ms(message.received_ms)
    fields: Json = {
        "name": attachment.name,
        "type": attachment.type,
        "size": attachment.size,
        "content_id": attachment.content_id,
        "url": attachment_urls.url_of(message.id, attachment.number, expires_ms),
    }
    if attachment.size <= settings().relay_inline_bytes:
        content = b"".join(parsing.content_of(octets, attachment))
        fields["data"] = base64.b64encode(content).decode()
    return fields
