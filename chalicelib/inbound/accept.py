"""Accept mail that comes back, and queue the events that it makes.

A report is trusted because of the signed address that it was sent to, or that it holds. An address
that is not ours, was forged or has expired is refused at RCPT; a report about an unknown message is
refused at its end. A genuine message without an event (a notice of a delay, a person's answer) is
accepted and dropped. All of this is logged, without addresses.

Reports about sending domains make no events; they are stored as they come.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from chalicelib.core import clock
from chalicelib.core.message_event import Event
from chalicelib.events import stream
from chalicelib.inbound import domain_report, inbound_events, mime, original_message, report
from chalicelib.inbound.addresses import Purpose, is_served, message_named_in, target_of
from chalicelib.inbound.arf import Feedback
from chalicelib.inbound.mime import Mail
from chalicelib.inbound.original_message import OriginalMessage
from chalicelib.inbound.report import Bounce, NoEvent, Report

_log = logging.getLogger(__name__)

NO_EVENT = "nothing to record"

_LOGGED = ("type", "event_id", "message_id")


class NotServed(Exception):
    """This service does not take mail for the domain."""


class NoSuchAddress(Exception):
    """The service never issued the address, or it has expired."""


class UnknownMessage(Exception):
    """Nothing is known of the message that a report is about."""


def check_recipient(address: str) -> None:
    """Return if the service takes mail to the address; otherwise raises.

    The exceptions are :class:`NoSuchAddress` and :class:`NotServed`.

    A signed address is good as long as its message is known, whatever has become of its domain: it
    may have been deleted, have failed a check, or be another account's by now. The signature is
    checked first, so that guessing addresses costs no reads.
    """
    target = target_of(address)
    if target is None:
        _log.info("refused mail to an address that was never given out or is over")
        raise NoSuchAddress
    domain = address.rpartition("@")[2]
    if not (is_served(domain) or original_message.was_sent_from(target.message_id, domain)):
        raise NotServed


def accept(mail_from: str, recipients: Sequence[str], data: bytes) -> str:
    """Queue the events that a message to these addresses makes; return their ids.

    ``mail_from`` is empty for the null reverse-path. Returns when the queue holds the events.
    Raises :class:`UnknownMessage` when nothing is known of the messages that it is about, and
    ``domain_reports.receipt.NotVerifiable``.
    """
    addresses = list(dict.fromkeys(recipients))
    if any(map(_is_for_domain_reports, addresses)):
        domain_report.store(data)
        addresses = [each for each in addresses if not _is_for_domain_reports(each)]
        if not addresses:
            return NO_EVENT
    mail = mime.read(data)
    results = [_read(mail, mail_from, address) for address in addresses]
    if not any(results):
        _log.info("refused a report about a message of which nothing is known")
        raise UnknownMessage
    for result in results:
        if isinstance(result, NoEvent):
            _log.info("dropped a message that came back: %s", result.why)
    events = [result for result in results if result and not isinstance(result, NoEvent)]
    return _queue(events) if events else NO_EVENT


def _is_for_domain_reports(address: str) -> bool:
    target = target_of(address)
    return target is not None and target.purpose is Purpose.DOMAIN_REPORT


def _read(mail: Mail, mail_from: str, address: str) -> Event | NoEvent | None:
    """Return the event that mail to one address makes; ``None`` if its message is unknown."""
    target = target_of(address)
    if target is None:  # it expired since RCPT
        return None
    if target.purpose is Purpose.FEEDBACK:
        return _feedback(mail, address)
    about = original_message.find(target.message_id)
    if about is None:
        return None
    if target.purpose is Purpose.UNSUBSCRIPTION:
        return _unsubscription(mail, mail_from, about)
    content = report.read(mail, about.recipient, about.subject, mail_from)
    return _event(content, address, about)


def _feedback(mail: Mail, address: str) -> Event | NoEvent:
    """Return the event that a feedback loop reports.

    A report about an unknown message is accepted: the operator of the loop may end it after
    refusals, whatever their reason.
    """
    feedback = report.read_feedback(mail)
    if isinstance(feedback, NoEvent):
        return feedback
    message_id = message_named_in(feedback.texts)
    about = original_message.find(message_id) if message_id else None
    if about is None:
        return NoEvent("it names no message that is known")
    return _event(feedback, address, about)


def _unsubscription(mail: Mail, mail_from: str, about: OriginalMessage) -> Event | NoEvent:
    if report.is_report(mail):
        return NoEvent("a report unsubscribes nobody")
    return inbound_events.list_unsubscribe(mail_from, about, clock.now_ms())


def _event(content: Report, address: str, about: OriginalMessage) -> Event | NoEvent:
    if isinstance(content, Bounce):
        return inbound_events.out_of_band(content, about, clock.now_ms())
    if isinstance(content, Feedback):
        return inbound_events.spam_complaint(content, address, about, clock.now_ms())
    return content


def _queue(events: Sequence[Event]) -> str:
    """Queue events and return their ids. Recording knows those that were reported before."""
    stream.emit(events)
    for event in events:
        _log.info("queued %s %s of message %s", *map(event.get, _LOGGED))
    return " ".join(event["event_id"] for event in events)
