"""Build the events that inbound mail makes (spec 2.11).

Each of them happens to a message once: its id depends on the message, its type and its bounce
class, so a report that comes again makes the same event. Recording counts the first one
(``recording.single_events``).
"""

from __future__ import annotations

from chalicelib.core.addresses import spelling
from chalicelib.core.message_event import Event, EventFields
from chalicelib.events.model import make_event
from chalicelib.inbound.arf import Feedback
from chalicelib.inbound.original_message import OriginalMessage
from chalicelib.inbound.report import Bounce


def out_of_band(report: Bounce, message: OriginalMessage, at_ms: int) -> Event:
    """Return the event of a message that bounced after the receiving host had accepted it.

    A message has one for each bounce class, so that an automatic answer does not hide a bounce.
    """
    base: EventFields = {**message.fields}
    base.pop("rcpt_type", None)
    reason = f"{report.code} {report.reply}".rstrip()
    fields: EventFields = {
        "delv_method": "esmtp",
        "bounce_class": str(report.bounce_class),
        "error_code": str(report.code),
        "reason": reason,
        "raw_reason": reason,
        "num_retries": message.num_retries,
        "queue_time": message.queue_time,
    }
    return make_event("out_of_band", base, at_ms, nonce=str(report.bounce_class), **fields)


def spam_complaint(
    report: Feedback, reported_to: str, message: OriginalMessage, at_ms: int
) -> Event:
    """Return the event of a complaint that was sent to the address ``reported_to``.

    A message has at most one, however often its recipient complains.
    """
    fields: EventFields = {
        "delv_method": "esmtp",
        "fbtype": report.kind,
        "report_by": report.reported_by or message.fields["recipient_domain"],
        "report_to": spelling(reported_to),
        "queue_time": message.queue_time,
    }
    return make_event("spam_complaint", message.fields, at_ms, **fields)


def list_unsubscribe(mail_from: str, message: OriginalMessage, at_ms: int) -> Event:
    """Return the event of a recipient who unsubscribed by mail.

    It is the same as that of the button of the mail client (``tracking.engagement``).
    """
    fields: EventFields = {"delv_method": "esmtp", "mailfrom": mail_from or message.recipient}
    return make_event("list_unsubscribe", message.fields, at_ms, **fields)
