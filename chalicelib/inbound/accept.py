"""The way of mail that comes back: for whom, about which message, what it says, on the queue.

A report is believed because of the signed address that it was sent to, or that it holds. What is no
address of ours, was forged, or has had its time is refused at RCPT; a message of which nothing is
known any more is refused at its end. What is genuine and says nothing that counts (a notice of a
delay, a person's answer) is taken and dropped. All of it is logged, without addresses.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial

from chalicelib.core import clock
from chalicelib.events import stream
from chalicelib.events.model import Event
from chalicelib.inbound import inbound_events, mime, report, sent, store
from chalicelib.inbound.addresses import Purpose, is_served, message_named_in, target_of
from chalicelib.inbound.arf import Feedback
from chalicelib.inbound.mime import Mail
from chalicelib.inbound.report import Bounced, Nothing, Report
from chalicelib.inbound.sent import Sent

#: Makes an event at a time in milliseconds
Maker = Callable[[int], Event]

_log = logging.getLogger(__name__)

NO_EVENT = "nothing to record"


class NotServed(Exception):
    """Mail to this domain is not ours to take."""


class NoSuchAddress(Exception):
    """The address was never given out, or it is not good any more."""


class UnknownMessage(Exception):
    """Nothing is known of the message that a report is about."""


def check_recipient(address: str) -> None:
    """Return if mail to the address is taken; raises :class:`NotServed`, :class:`NoSuchAddress`.

    The signature is looked at first, so that guessing costs no reads.
    """
    target = target_of(address)
    if target is None:
        _log.info("refused mail to an address that was never given out or is over")
        raise NoSuchAddress
    if not is_served(address.rpartition("@")[2]):
        raise NotServed


def accept(mail_from: str, recipients: Sequence[str], data: bytes) -> str:
    """Queue the events that a message to these addresses makes; return their ids.

    ``mail_from`` is empty for the null reverse-path. Returns when the queue holds the events.
    Raises :class:`UnknownMessage` when nothing is known of the messages that it is about.
    """
    mail = mime.read(data)
    found = [_read(mail, mail_from, address) for address in dict.fromkeys(recipients)]
    if not any(found):
        _log.info("refused a report about a message of which nothing is known")
        raise UnknownMessage
    for each in found:
        if isinstance(each, Nothing):
            _log.info("dropped a message that came back: %s", each.why)
    makers = [each for each in found if each and not isinstance(each, Nothing)]
    return " ".join(map(_queue, makers)) or NO_EVENT


def _read(mail: Mail, mail_from: str, address: str) -> Maker | Nothing | None:
    """Return what the mail says to one address, ``None`` if of a message that is not known."""
    target = target_of(address)
    if target is None:  # its last day ended since RCPT
        return None
    if target.purpose is Purpose.FEEDBACK:
        return _feedback(mail, address)
    about = sent.find(target.message_id)
    if about is None:
        return None
    if target.purpose is Purpose.UNSUBSCRIPTION:
        return _unsubscription(mail, mail_from, about)
    return _maker(report.read(mail, about.recipient), address, about)


def _feedback(mail: Mail, address: str) -> Maker | Nothing:
    """Return what a feedback loop reports; it is not told when the message is known no more.

    Refused, the loop might end: its operators count refusals, and not what they are about.
    """
    found = report.read_feedback(mail)
    if isinstance(found, Nothing):
        return found
    message_id = message_named_in(found.texts)
    about = sent.find(message_id) if message_id else None
    if about is None:
        return Nothing("it names no message that is known")
    return _maker(found, address, about)


def _unsubscription(mail: Mail, mail_from: str, about: Sent) -> Maker | Nothing:
    if report.is_report(mail):
        return Nothing("a report unsubscribes nobody")
    return partial(inbound_events.list_unsubscribe, mail, mail_from, about)


def _maker(found: Report, address: str, about: Sent) -> Maker | Nothing:
    if isinstance(found, Bounced):
        return partial(inbound_events.out_of_band, found, about)
    if isinstance(found, Feedback):
        return partial(inbound_events.spam_complaint, found, address, about)
    return found


def _queue(make: Maker) -> str:
    """Queue an event at the time of its first report, once; return its id."""
    event = make(clock.now_ms())
    transmission_id, event_id = event["transmission_id"], str(event["event_id"])
    reported = store.note(transmission_id, event_id, event["timestamp"])
    if reported.queued:
        _log.info("a report came again: event %s", event_id)
        return event_id
    stream.emit([make(reported.at_ms)])
    store.note_queued(transmission_id, event_id)
    _log.info("queued %s %s of message %s", event["type"], event_id, event["message_id"])
    return event_id
