"""Build the events that notifications of Amazon SES make.

A message whose delivery is reported later has no event of its delivery from the hand-over to SES.
Its `delivery`, `delay` and `bounce` events come from here. What a host reports after it had taken
the message is an out-of-band bounce, as by mail.

Event ids derive from message and type, so a repeated notification makes the same event, at the same
time. A message may have several delays; their times tell them apart.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

from chalicelib.core import clock
from chalicelib.core.message_event import Event, EventFields
from chalicelib.events.model import make_event
from chalicelib.inbound import inbound_events, report
from chalicelib.inbound.arf import Feedback
from chalicelib.inbound.original_message import OriginalMessage
from chalicelib.inbound.report import Bounce, NoEvent
from chalicelib.inbound.ses_notifications import bounces
from chalicelib.inbound.ses_notifications.model import Kind, Notification

_SES_HOSTS: Final = ".amazonses.com"
_FAILURES: Final = (Kind.BOUNCE, Kind.REJECTION, Kind.RENDERING_FAILURE)


def event_of(notification: Notification, message: OriginalMessage) -> Event | NoEvent:
    """Return the event of a notification about the message."""
    at_ms = _time_of(notification, message)
    match notification.kind:
        case Kind.BOUNCE:
            bounce = bounces.bounce_of(notification, message.recipient)
            return _failure(notification, message, bounce, at_ms)
        case Kind.REJECTION | Kind.RENDERING_FAILURE:
            return _failure(notification, message, bounces.unsent(notification), at_ms)
        case Kind.COMPLAINT:
            return _complaint(notification, message, at_ms)
        case Kind.DELIVERY | Kind.DELAY if not notification.is_awaited:
            return NoEvent("its delivery was counted when SES took it")
        case Kind.DELIVERY:
            fields = _fields(notification, message, at_ms)
            return make_event("delivery", message.fields, at_ms, **fields)
        case Kind.DELAY:
            fields = _fields(notification, message, at_ms)
            fields |= _reason(bounces.delay_of(notification, message.recipient))
            nonce = str(notification.at_ms)
            return make_event("delay", message.fields, at_ms, nonce=nonce, **fields)
    return NoEvent("SES tells of nothing that is recorded here")


def comes_after_delivery(notification: Notification) -> bool:
    """Tell whether the event also says how the message was delivered before.

    SES reports a failed delivery itself, or tells the host that it talked to. A bounce that another
    host reports is one of a message that was delivered.
    """
    if notification.kind is Kind.COMPLAINT:
        return True
    if notification.kind not in _FAILURES:
        return False
    return not notification.is_awaited or (
        notification.kind is Kind.BOUNCE
        and notification.sub_type not in bounces.NOT_TRIED
        and not notification.remote_ip
        and not notification.reporting_host.endswith(_SES_HOSTS)
    )


def _time_of(notification: Notification, message: OriginalMessage) -> int:
    """Return when it happened: not before the message was made, and not in the future."""
    return min(max(notification.at_ms, _injected_ms(message)), clock.now_ms())


def _injected_ms(message: OriginalMessage) -> int:
    time = datetime.fromisoformat(message.fields["injection_time"])
    return round(time.timestamp() * 1000)


def _failure(
    notification: Notification, message: OriginalMessage, bounce: Bounce, at_ms: int
) -> Event:
    """Return the event of a message that was not delivered, or not after all."""
    if comes_after_delivery(notification):
        return inbound_events.out_of_band(bounce, message, at_ms)
    return _bounce(notification, message, bounce, at_ms)


def _bounce(
    notification: Notification, message: OriginalMessage, bounce: Bounce, at_ms: int
) -> Event:
    fields: EventFields = {
        "delv_method": "esmtp",
        "num_retries": message.num_retries,
        "ip_address": notification.remote_ip,
        **_reason(bounce),
    }
    return make_event("bounce", message.fields, at_ms, **fields)


def _complaint(notification: Notification, message: OriginalMessage, at_ms: int) -> Event | NoEvent:
    if bounce := bounces.on_account_list(notification):
        if notification.is_awaited:
            return _bounce(notification, message, bounce, at_ms)
        return inbound_events.out_of_band(bounce, message, at_ms)
    feedback = report.checked_complaint(
        Feedback(notification.feedback_type or "other", notification.reporter, ())
    )
    if isinstance(feedback, NoEvent):
        return feedback
    return inbound_events.spam_complaint(feedback, message.fields["msg_from"], message, at_ms)


def _fields(notification: Notification, message: OriginalMessage, at_ms: int) -> EventFields:
    """Return what the events of an attempt say that did not fail for good."""
    return {
        "delv_method": "esmtp",
        "num_retries": message.num_retries,
        "ip_address": notification.remote_ip,
        "queue_time": str(at_ms - _injected_ms(message)),
        "outbound_tls": "",
    }


def _reason(bounce: Bounce) -> EventFields:
    reply = f"{bounce.code} {bounce.reply}".rstrip()
    return {
        "bounce_class": str(bounce.bounce_class),
        "error_code": str(bounce.code),
        "reason": reply,
        "raw_reason": reply,
    }
