"""The events that mail which comes back makes (spec 2.11), from what it says and what is known.

Each is a function of the moment alone that remains to be given: the time of the first report. What
tells two events of a message apart is what they say, so a report that comes again makes the same.
"""

from __future__ import annotations

import hashlib

from chalicelib.events.model import Event, make
from chalicelib.inbound.arf import Feedback
from chalicelib.inbound.mime import Mail
from chalicelib.inbound.report import Bounced
from chalicelib.inbound.sent import Sent

_METHOD: Event = {"delv_method": "esmtp"}


def out_of_band(told: Bounced, sent: Sent, at_ms: int) -> Event:
    """Return the event of a message that bounced after it had been accepted.

    There is one for each bounce class: an automatic answer does not hide a bounce.
    """
    base = {name: value for name, value in sent.fields.items() if name != "rcpt_type"}
    reason = f"{told.code} {told.reply}".rstrip()
    fields: Event = {
        "bounce_class": str(told.bounce_class),
        "error_code": str(told.code),
        "reason": reason,
        "raw_reason": reason,
        "num_retries": sent.num_retries,
        "queue_time": sent.queue_time,
    }
    return make("out_of_band", base, at_ms, nonce=str(told.bounce_class), **_METHOD, **fields)


def spam_complaint(told: Feedback, reported_to: str, sent: Sent, at_ms: int) -> Event:
    """Return the event of a complaint that was sent to the address ``reported_to``.

    A message has one at most, however often and in whatever ways its recipient complains.
    """
    fields: Event = {
        "fbtype": told.kind,
        "report_by": told.reported_by or sent.fields["recipient_domain"],
        "report_to": reported_to.lower(),
        "queue_time": sent.queue_time,
    }
    return make("spam_complaint", sent.fields, at_ms, **_METHOD, **fields)


def list_unsubscribe(mail: Mail, mail_from: str, sent: Sent, at_ms: int) -> Event:
    """Return the event of a recipient who unsubscribed by mail.

    Another mail makes another event: who was put on the list again may unsubscribe again.
    """
    named = mail.fields.first("message-id") or repr(mail.fields.values())
    nonce = hashlib.sha256(named.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    fields: Event = {"mailfrom": mail_from or sent.recipient}
    return make("list_unsubscribe", sent.fields, at_ms, nonce=nonce, **_METHOD, **fields)
