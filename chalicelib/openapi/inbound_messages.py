"""Describe ``/inbound-messages``, and the signed URLs of attachments."""

from __future__ import annotations

from typing import Final

from chalicelib.core.json_types import Json
from chalicelib.openapi.operation import (
    NO_CONTENT,
    Operation,
    Operations,
    Responses,
    content,
    query,
    redirect,
    results,
    shared_parameter,
)
from chalicelib.openapi.schema import (
    Maybe,
    array,
    flag,
    integer,
    mapping,
    moment,
    nullable,
    one_of,
    record,
    text,
)
from chalicelib.received_mail.attachment_urls import PATH as ATTACHMENTS
from chalicelib.received_mail.request import ACTIONS, DEFAULT_PER_PAGE, MOST_PER_PAGE

_PATH: Final = "/api/v1/inbound-messages"

_ACTION: Final = one_of(ACTIONS)
_ENVELOPE: Final[dict[str, Json]] = {
    "id": text(about="The id of the relay events (`relay_id`)"),
    "received_at": moment(),
    "domain": text(),
    "rcpt_to": text(about="The recipient in the envelope"),
    "msg_from": text(about="The sender in the envelope, empty for a bounce"),
    "friendly_from": text(about="The address in the From header"),
    "tag": text(about="What follows a plus sign in the local part"),
    "size": integer(0),
    "action": _ACTION,
    "subaccount_id": integer(0),
}
_SUMMARY: Final = record(
    **_ENVELOPE,
    subject=text(about="Its first 200 characters"),
    attachments=integer(0),
)
_ATTACHMENT: Final = record(
    number=integer(0),
    name=text(),
    type=text(),
    size=integer(0),
    content_id=text(),
    inline=flag(),
    url=text(about="Anybody can fetch the attachment here until `expires_at`"),
)
_MESSAGE: Final = record(
    **_ENVELOPE,
    expires_at=moment(),
    peer_ip=text(),
    helo=text(),
    tls=text(about="The version of TLS, empty without"),
    verdicts=mapping(),
    automatic=flag(),
    in_reply_to=nullable(record(transmission_id=text(), message_id=text(), rcpt_to=text())),
    content=record(
        subject=text(),
        to=array(text()),
        cc=array(text()),
        headers=array(mapping(text())),
        text=nullable(text()),
        html=nullable(text()),
    ),
    reply_text=text(about="The text without the message that it quotes and the signature"),
    attachments=array(_ATTACHMENT),
    forward_to=text(),
    relay=nullable(record(webhook_id=text(), batch_id=text(), batch=text())),
    is_cut=flag(),
)
_LARGE: Final = redirect(302, "The content is too large for a reply: the URL of a copy")


def _file(media_type: str, about: str) -> Responses:
    return content(media_type, text(), about=about) | _LARGE


OPERATIONS: Final[Operations] = {
    f"GET {_PATH}": Operation(
        results(array(_SUMMARY), links=record(next=Maybe(text()))),
        parameters=(
            query("domain", text(), "Only messages to this inbound domain"),
            query("recipient", text(), "Only messages to this address"),
            query("sender", text(), "Only messages with this sender in the envelope or in From"),
            query("subject", text(), "Only messages whose subject has each of these words"),
            query("action", _ACTION, "Only messages with which this was done"),
            query("from", moment(), "Only messages of this time or later"),
            query("to", moment(), "Only messages of this time or before; by default now"),
            shared_parameter("cursor"),
            query(
                "per_page",
                integer(1, MOST_PER_PAGE) | {"default": DEFAULT_PER_PAGE},
                "Results per page. A page may have fewer although there are more: "
                "follow `links.next` to its end",
            ),
        ),
    ),
    f"GET {_PATH}/{{message_id}}": Operation(results(_MESSAGE)),
    f"GET {_PATH}/{{message_id}}/raw": Operation(
        _file("message/rfc822", "The message with its header")
    ),
    f"GET {_PATH}/{{message_id}}/attachments/{{number}}": Operation(
        _file("*/*", "The decoded content")
    ),
    f"DELETE {_PATH}/{{message_id}}": Operation(NO_CONTENT),
    f"GET {ATTACHMENTS}/{{token}}": Operation(_file("*/*", "The decoded content")),
}
