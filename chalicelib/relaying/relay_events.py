"""Build the events of received mail: that it came in or was rejected, and what its posts came to.

They have the wrapper ``relay_event``. The id of an event derives from ``relay_id``, its type and
the attempt, so that making it again makes the same event. Metrics do not count them.
"""

from __future__ import annotations

from typing import Literal

from chalicelib.core import clock, ids
from chalicelib.core.addresses import spelling
from chalicelib.core.message_event import Event, EventFields
from chalicelib.core.typed_dicts import TypedDict
from chalicelib.received_mail import inbound_queue
from chalicelib.received_mail.inbound_queue import InboundRecipient
from chalicelib.received_mail.model import ReceivedMessage

AttemptKind = Literal["relay_delivery", "relay_tempfail", "relay_permfail"]
"""What an attempt to relay a message came to; after ``relay_tempfail`` it is tried again."""


class RelayFields(TypedDict):
    """What the events of one message share; ``webhook_id`` is empty without a relay webhook.

    ``received_ms`` is in milliseconds, ``size`` in bytes.
    """

    relay_id: str
    account_id: int
    subaccount_id: int | None
    webhook_id: str
    rcpt_to: str
    msg_from: str
    received_ms: int
    size: int


def fields_of(message: ReceivedMessage) -> RelayFields:
    """Return what the events of a message share."""
    return {
        "relay_id": message.id,
        "account_id": message.account_id,
        "subaccount_id": message.subaccount_id,
        "webhook_id": message.webhook_id,
        "rcpt_to": message.rcpt_to,
        "msg_from": message.mail_from,
        "received_ms": message.received_ms,
        "size": message.size,
    }


def injection(message: ReceivedMessage) -> Event:
    """Return the event of a message that was received.

    If it answers a message of this service, the event has that message's ids, so that searches for
    them find the answer.
    """
    fields: EventFields = {
        **_base(fields_of(message)),
        **_size(fields_of(message)),
        "subject": message.subject,
        "friendly_from": message.friendly_from,
    }
    if answered := message.in_reply_to:
        fields["transmission_id"] = answered["transmission_id"]
        fields["message_id"] = answered["message_id"]
    return _event("relay_injection", message.id, fields, message.received_ms)


def rejection(
    recipient: InboundRecipient,
    *,
    message_id: str,
    mail_from: str,
    peer_ip: str,
    at_ms: int,
    code: int,
    reason: str,
) -> Event:
    """Return the event of a message that was refused after RCPT, for one of its recipients.

    ``message_id`` is the id of the SMTP message, ``code`` that of the reply with the text
    ``reason``.
    """
    relay_id = inbound_queue.relay_id(message_id, recipient["index"])
    base = _base(
        {
            "relay_id": relay_id,
            "account_id": recipient["account_id"],
            "subaccount_id": recipient["subaccount_id"],
            "webhook_id": "",
            "rcpt_to": recipient["address"],
            "msg_from": mail_from,
            "received_ms": at_ms,
            "size": 0,
        }
    )
    refusal = _refusal(reason if reason.startswith(str(code)) else f"{code} {reason}")
    fields: EventFields = {**base, **refusal, "remote_addr": peer_ip}
    return _event("relay_rejection", relay_id, fields, at_ms)


def attempt(
    kind: AttemptKind, fields: RelayFields, at_ms: int, attempt: int, reason: str = ""
) -> Event:
    """Return the event of an attempt to relay a message; ``attempt`` is 0 for the first one.

    ``reason`` says why it failed and may begin with the status of the response.
    """
    own: EventFields = {
        **_base(fields),
        "num_retries": str(attempt),
        "queue_time": str(max(0, at_ms - fields["received_ms"])),
    }
    if kind == "relay_delivery":
        own = {**own, **_size(fields), "delv_method": "http"}
    else:
        own = {**own, **_refusal(reason)}
    return _event(kind, fields["relay_id"], own, at_ms, attempt)


def _base(fields: RelayFields) -> EventFields:
    address = spelling(fields["rcpt_to"])
    domain = address.rpartition("@")[2]
    base: EventFields = {
        "customer_id": str(fields["account_id"]),
        "relay_id": fields["relay_id"],
        "origination": "inbound",
        "protocol": "smtp",
        "recv_method": "esmtp",
        "msg_from": fields["msg_from"],
        "rcpt_to": address,
        "raw_rcpt_to": fields["rcpt_to"],
        "recipient_domain": domain,
        "routing_domain": domain,
    }
    if fields["subaccount_id"]:
        base["subaccount_id"] = str(fields["subaccount_id"])
    if fields["webhook_id"]:
        base["webhook_id"] = fields["webhook_id"]
    return base


def _size(fields: RelayFields) -> EventFields:
    return {
        "injection_time": clock.iso_ms(fields["received_ms"]),
        "msg_size": str(fields["size"]),
    }


def _refusal(reason: str) -> EventFields:
    refusal: EventFields = {"reason": reason, "raw_reason": reason}
    if reason[:3].isascii() and reason[:3].isdigit():
        refusal["error_code"] = reason[:3]
    return refusal


def _event(
    kind: str, relay_id: str, fields: EventFields, at_ms: int, attempt_number: int = 0
) -> Event:
    return {
        **fields,
        "type": kind,
        "timestamp": at_ms,
        "event_id": ids.event_id(relay_id, kind, attempt_number),
    }
