"""Read the notifications of Amazon SES, the event records that it publishes to SNS.

SES adds fields and types as it likes, and the text in them comes from mail hosts. So what is not
used is not looked at, and what is used is bounded. A record names the message by the tag that the
``ses`` transport gave it. One without the tag (of a message from before there were notifications,
or of another configuration set) names it by the header that holds the same signed text.

Source: Amazon SES Developer Guide, "Contents of event data that Amazon SES publishes to Amazon SNS"
and "Amazon SNS notification contents", which has ``notificationType`` for ``eventType``.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from typing import Any

from chalicelib.core import ses
from chalicelib.core.addresses import LONGEST
from chalicelib.core.json_types import Json
from chalicelib.delivery.outcome import REPLY_LIMIT, clean_reply
from chalicelib.inbound import dsn
from chalicelib.inbound.dsn import RecipientStatus
from chalicelib.sending_domains import return_path

#: Of the header fields and recipients in a record, more are not looked at
_MOST_HEADERS = 500
_MOST_RECIPIENTS = 50
#: The times of years that have four digits, in ms
_LAST_MS = 253_402_300_799_999


class MalformedNotification(ValueError):
    """A record that is no notification of SES, or lacks what each of its type has."""


class Kind(Enum):
    """The type of a notification, and the object of the record that has its details."""

    BOUNCE = "bounce"
    COMPLAINT = "complaint"
    DELIVERY = "delivery"
    DELAY = "deliveryDelay"
    REJECTION = "reject"
    RENDERING_FAILURE = "failure"
    OTHER = ""


_KINDS = {
    "Bounce": Kind.BOUNCE,
    "Complaint": Kind.COMPLAINT,
    "Delivery": Kind.DELIVERY,
    "DeliveryDelay": Kind.DELAY,
    "Reject": Kind.REJECTION,
    "Rendering Failure": Kind.RENDERING_FAILURE,
}


@dataclass(frozen=True, slots=True)
class Notification:
    """What SES tells about a message; texts that it leaves out are empty.

    - ``message_id``: the message of ours, empty if it is none or is forgotten by now
    - ``is_awaited``: whether the message has no delivery event without this notification
    - ``at_ms``: when it happened
    - ``main_type``, ``sub_type``: of a bounce; ``sub_type`` also of a complaint or a delay
    - ``statuses``: of the recipients of a bounce or a delay
    - ``reply``: of the host that took the message, or why SES did not send it
    - ``feedback_type``, ``reporter``: of a complaint
    - ``reporting_host``, ``remote_ip``: the host that reports, and the one that SES talked to
    """

    kind: Kind
    message_id: str
    is_awaited: bool = False
    at_ms: int = 0
    main_type: str = ""
    sub_type: str = ""
    statuses: tuple[RecipientStatus, ...] = ()
    reply: str = ""
    feedback_type: str = ""
    reporter: str = ""
    reporting_host: str = ""
    remote_ip: str = ""


def read(body: str) -> Notification:
    """Return the notification in the body of a queue message; raises `MalformedNotification`.

    The body is the record itself, or the envelope in which SNS delivers it unless it is told not
    to.
    """
    record = _object(body)
    if record.get("Type") == "Notification" and "Message" in record:
        record = _object(record["Message"])
    name = record.get("eventType", record.get("notificationType"))
    if not isinstance(name, str) or not name:
        raise MalformedNotification("it has no type")
    kind = _KINDS.get(name, Kind.OTHER)
    mail = _part(record, "mail")
    message_id, is_awaited = _message_of(mail)
    if kind is Kind.OTHER or not message_id:
        return Notification(kind, message_id, is_awaited)
    details = _part(record, kind.value)
    recipients = details.get("bouncedRecipients", details.get("delayedRecipients"))
    return Notification(
        kind,
        message_id,
        is_awaited,
        at_ms=_time(details.get("timestamp", mail.get("timestamp"))),
        main_type=_text(details, "bounceType"),
        sub_type=_text(details, "bounceSubType", "complaintSubType", "delayType"),
        statuses=tuple(_statuses(recipients)),
        reply=_text(details, "smtpResponse", "reason", "errorMessage"),
        feedback_type=_text(details, "complaintFeedbackType").lower(),
        reporter=_text(details, "userAgent"),
        reporting_host=dsn.value_of(_text(details, "reportingMTA")).lower(),
        remote_ip=_text(details, "remoteMtaIp"),
    )


def _object(text: Any) -> Json:
    try:
        value = json.loads(text)
    except (TypeError, ValueError, RecursionError):
        raise MalformedNotification("it is no JSON") from None
    if not isinstance(value, dict):
        raise MalformedNotification("it is no object")
    return value


def _part(record: Json, name: str) -> Json:
    part = record.get(name)
    if not isinstance(part, dict):
        raise MalformedNotification(f"it has no object '{name}'")
    return part


def _text(details: Json, *names: str) -> str:
    """Return the first of these values that is a text, on one line; empty if none is.

    JSON can hold halves of characters, which nothing could store.
    """
    texts = (value for name in names if isinstance(value := details.get(name), str))
    return clean_reply(next(texts, "")).encode("utf-8", "replace").decode()


def _time(text: Any) -> int:
    """Return a time in ms."""
    try:
        time = datetime.fromisoformat(text)
        at_ms = round(time.replace(tzinfo=time.tzinfo or UTC).timestamp() * 1000)
    except (TypeError, ValueError, OverflowError):
        raise MalformedNotification("its time cannot be read") from None
    if not 0 <= at_ms <= _LAST_MS:
        raise MalformedNotification("its time cannot be read")
    return at_ms


def _message_of(mail: Json) -> tuple[str, bool]:
    """Return the message id, and whether a tag named it; an empty one if it is not ours."""
    tags = mail.get("tags")
    values = tags.get(ses.MESSAGE_TAG) if isinstance(tags, dict) else None
    for value in values[:1] if isinstance(values, list) else ():
        if isinstance(value, str) and (message_id := return_path.message_of(_local_part(value))):
            return message_id, True
    headers = mail.get("headers")
    for field in headers[:_MOST_HEADERS] if isinstance(headers, list) else ():
        if isinstance(field, dict) and _is_report_id(field):
            return return_path.message_of(field["value"].strip()) or "", False
    return "", False


def _local_part(tag: str) -> str:
    return ses.local_part_of(tag[:LONGEST])


def _is_report_id(field: Json) -> bool:
    name, value = field.get("name"), field.get("value")
    if not isinstance(name, str) or not isinstance(value, str):
        return False
    return name.lower() == return_path.HEADER.lower() and len(value) <= LONGEST


def _statuses(recipients: Any) -> list[RecipientStatus]:
    """Return the status of each recipient, as that of a notification by mail."""
    entries = recipients[:_MOST_RECIPIENTS] if isinstance(recipients, list) else []
    return [
        RecipientStatus(
            (dsn.spelled(_text(entry, "emailAddress").strip("<>")),),
            _text(entry, "action").lower(),
            _text(entry, "status"),
            dsn.value_of(_text(entry, "diagnosticCode"))[:REPLY_LIMIT],
        )
        for entry in entries
        if isinstance(entry, dict)
    ]
