"""Acceptance of a finished message over SMTP: the same store and queue as over HTTP."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from email.utils import format_datetime

from chalicelib.core import clock, ids
from chalicelib.core.addresses import domain_of, is_address
from chalicelib.core.errors import ApiError, bad_format, invalid_domain
from chalicelib.core.settings import settings
from chalicelib.events import stream
from chalicelib.mail_format import rfc822
from chalicelib.mail_format.from_field import from_mailbox
from chalicelib.mail_format.rfc822 import Field
from chalicelib.recipient_lists.limits import too_large_data
from chalicelib.recipient_lists.recipients import MOST_TAGS
from chalicelib.sending_domains import store as domains
from chalicelib.transmissions import copies, policy_rejections
from chalicelib.transmissions.checks import check_options
from chalicelib.transmissions.copies import Copies
from chalicelib.transmissions.model import Json, Transmission
from chalicelib.transmissions.resolve import options_in_force
from chalicelib.transmissions.sender import Sender, find_sender
from chalicelib.transmissions.submit import submit


@dataclass(frozen=True, slots=True)
class SmtpMessage:
    """A message with its envelope, and what its API header asked for.

    ``data`` is without that header and has CRLF line ends; the recipients are addresses
    (``core.addresses``). ``options`` holds those of ``open_tracking``, ``click_tracking``,
    ``transactional``, ``skip_suppression``, ``inline_css``, ``ip_pool`` and ``dkim_key`` that were
    given.
    """

    mail_from: str
    recipients: Sequence[str]
    data: bytes
    peer_ip: str
    options: Json = field(default_factory=dict)
    campaign_id: str = ""
    metadata: Json = field(default_factory=dict)
    tags: Sequence[str] = ()
    copies: Copies = field(default_factory=Copies)


def accept_message(account_id: int, subaccount_id: int | None, given: SmtpMessage) -> str:
    """Accept a message; return its transmission id when it is stored and queued.

    Raises :class:`ServiceError` when it is refused: a malformed message, a From domain that is not
    the sender's, options that cannot be met, a sender who may not send, or an exceeded limit. The
    From domain is told in events, too: a client's log is seldom read.
    """
    if error := too_large_data(given.metadata, None):
        raise error
    fields, body = _read(given)
    recipients = copies.recipients(given.recipients, given.copies, given.tags[:MOST_TAGS])
    sent = _describe(account_id, subaccount_id, given)
    sender = _find_sender(sent, fields, recipients, given)
    sender.meter.check(len(recipients))
    sent = check_options(sent, sender)
    defaults = sender.defaults("smtp_tracking_default")
    sent = replace(
        sent,
        options=options_in_force(sent.options, {}, defaults),
        defaults=defaults,
        return_path=_return_path(sent, sender, given.mail_from),
        raw=_received(sent.id, given.peer_ip) + rfc822.join(fields, body),
    )
    submit(sent, recipients, sender.meter)
    return sent.id


def _read(given: SmtpMessage) -> tuple[list[Field], bytes]:
    """Return header fields, as all recipients have them, and body."""
    try:
        fields, body = rfc822.split(given.data)
        return copies.with_visible_copies(fields, given.copies.cc), body
    except ValueError as fault:  # rfc822.MessageError and headers.HeaderError are
        raise bad_format(str(fault)) from None


def _find_sender(
    sent: Transmission, fields: list[Field], recipients: Sequence[Json], given: SmtpMessage
) -> Sender:
    """Return the sender; a From that is not the sender's to use is told in events as well."""
    friendly_from = ""
    try:
        friendly_from = _from_address(fields)
        return find_sender(sent.account_id, sent.subaccount_id, domain_of(friendly_from))
    except ApiError as refusal:
        if refusal.code == "7001":
            told = policy_rejections.events_of(
                sent,
                recipients,
                refusal,
                mail_from=given.mail_from,
                friendly_from=friendly_from,
                peer_ip=given.peer_ip,
            )
            stream.emit(told)
        raise


def _from_address(fields: list[Field]) -> str:
    try:
        return from_mailbox(fields).email
    except ValueError:
        raise invalid_domain("No sending domain specified") from None


def _describe(account_id: int, subaccount_id: int | None, given: SmtpMessage) -> Transmission:
    return Transmission(
        id=ids.transmission_id(),
        account_id=account_id,
        subaccount_id=subaccount_id,
        created_ms=clock.now_ms(),
        recv_method="esmtp",
        options=given.options,
        resolved=True,
        campaign_id=given.campaign_id,
        metadata=given.metadata,
    )


def _return_path(sent: Transmission, sender: Sender, mail_from: str) -> str:
    """Return MAIL FROM where it is to count, else the empty text: the sender's bounce domain does.

    It counts whole for an enterprise account, and by its domain where that is verified to take the
    sender's bounces. Any other is no fault: clients name what they are set up with.
    """
    if not is_address(mail_from):
        return ""
    if sender.account.is_enterprise:
        return mail_from
    name = domain_of(mail_from)
    at_hand = sender.domain is not None and name == sender.domain.domain
    known = sender.domain if at_hand else domains.get(name)
    if known is None or not known.may_bounce:
        return ""
    return mail_from if known.usable_by(sent.account_id, sent.subaccount_id) else ""


def _received(transmission_id: str, peer_ip: str) -> bytes:
    """Return the trace field that every host which takes a message adds (RFC 5321 4.4)."""
    date = format_datetime(datetime.fromtimestamp(int(clock.now()), UTC))
    host = settings().mail_hostname
    literal = f"IPv6:{peer_ip}" if ":" in peer_ip else peer_ip
    return (
        f"Received: from [{literal}] by {host} (Postfinch)\r\n"
        f" with ESMTPSA id {transmission_id}; {date}\r\n"
    ).encode()
