"""Accept a finished message over SMTP: it goes to the same store and queue as one over HTTP."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from email.utils import format_datetime

from chalicelib.core import clock, ids
from chalicelib.core.addresses import domain_of, is_address
from chalicelib.core.errors import ApiError, ContentTooLarge, bad_format, invalid_domain
from chalicelib.core.json_types import Json
from chalicelib.core.settings import settings
from chalicelib.events import stream
from chalicelib.mail_format import rfc822
from chalicelib.mail_format.from_field import from_mailbox
from chalicelib.mail_format.header_section import Field, header_fields, split_head
from chalicelib.mail_format.seven_bit import seven_bit_message
from chalicelib.recipient_lists.limits import too_large_data
from chalicelib.recipient_lists.recipients import MOST_TAGS
from chalicelib.recipient_lists.stored_form import StoredRecipient, encode
from chalicelib.sending_domains import store as domains
from chalicelib.templates.prebuilt import PrebuiltContent
from chalicelib.transmissions import copies
from chalicelib.transmissions.copies import Copies
from chalicelib.transmissions.model import Transmission
from chalicelib.transmissions.policy_rejections import policy_rejections
from chalicelib.transmissions.recipients import RequestRecipients
from chalicelib.transmissions.resolve import options_in_force
from chalicelib.transmissions.sender import Sender, check_options, find_sender
from chalicelib.transmissions.store import transmissions
from chalicelib.transmissions.submit import submit


@dataclass(frozen=True, slots=True)
class SmtpMessage:
    """A message with its envelope, and the choices in its API header.

    ``data`` is without that header and has CRLF line ends; the recipients are addresses
    (``core.addresses``). ``options`` holds those of ``open_tracking``, ``click_tracking``,
    ``transactional``, ``skip_suppression``, ``inline_css``, ``ip_pool``, ``dkim_key`` and
    ``reply_domain`` that the header set.
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


def accept_message(
    account_id: int,
    subaccount_id: int | None,
    message: SmtpMessage,
    transmission_id: str | None = None,
) -> str:
    """Accept a message; return its transmission id when it is stored and queued.

    A message that is accepted again under the same ``transmission_id`` is sent once.

    Raises :class:`ServiceError` when it is refused: a malformed message, a From domain that is not
    the sender's, options that cannot be met, a sender who may not send, or an exceeded limit. A
    refused From domain makes events, too, since few people read the log of their mail client.
    """
    _check_metadata(message)
    fields, body = _read_fields(message)
    recipients = copies.recipients(message.recipients, message.copies, message.tags[:MOST_TAGS])
    transmission = _describe(
        account_id, subaccount_id, message, transmission_id or ids.transmission_id()
    )
    sender = _find_sender(transmission, fields, recipients, message)
    _check_allowance(sender, transmission, len(recipients), may_repeat=bool(transmission_id))
    transmission = check_options(transmission, sender)
    transmission = _resolve(transmission, sender, message.mail_from)
    received = _received_field(transmission.id, message.peer_ip)
    raw = rfc822.join(fields, body, trace=received)
    del message, body  # it may be large, and is not needed beside its copy
    transmission = replace(transmission, raw=raw)
    submit(transmission, RequestRecipients([*map(encode, recipients)]), sender.plan_allowance)
    return transmission.id


def _check_allowance(
    sender: Sender, transmission: Transmission, count: int, *, may_repeat: bool
) -> None:
    """Raise 420 for recipients over a limit, unless this repeats what counted them."""
    try:
        sender.plan_allowance.check(count)
    except ApiError:
        if not (may_repeat and transmissions.exists(transmission.id)):
            raise


def _check_metadata(message: SmtpMessage) -> None:
    if error := too_large_data(message.metadata, None):
        raise error


def _read_fields(message: SmtpMessage) -> tuple[list[Field], memoryview]:
    """Return the header fields that all recipients get, and the body, as every host takes them."""
    try:
        data = seven_bit_message(message.data)
        head_end, body_start = split_head(data, 0, len(data))
        fields = header_fields(data, 0, head_end)
        fields = copies.with_visible_copies(fields, message.copies.cc)
    except ValueError as fault:  # rfc822.MessageError and headers.HeaderError are
        raise bad_format(str(fault)) from None
    if len(data) > (most := settings().max_message_bytes):
        text = f"the message has {len(data)} bytes as it is sent, over {most}"
        raise ContentTooLarge(text)
    return fields, memoryview(data)[body_start:]


def _describe(
    account_id: int, subaccount_id: int | None, message: SmtpMessage, transmission_id: str
) -> Transmission:
    return Transmission(
        id=transmission_id,
        account_id=account_id,
        subaccount_id=subaccount_id,
        created_ms=clock.now_ms(),
        recv_method="esmtp",
        options=message.options,
        requested={"options": message.options},
        resolved=True,
        campaign_id=message.campaign_id,
        metadata=message.metadata,
    )


def _find_sender(
    transmission: Transmission,
    fields: list[Field],
    recipients: Sequence[StoredRecipient],
    message: SmtpMessage,
) -> Sender:
    """Return the sender; a From domain that is not the sender's makes events as well."""
    friendly_from = ""
    owner = transmission.account_id, transmission.subaccount_id
    try:
        friendly_from = _from_address(fields)
        return find_sender(*owner, domain_of(friendly_from))
    except ApiError as refusal:
        if refusal.code == "7001":
            events = policy_rejections(
                _resolve(transmission, find_sender(*owner, None), ""),
                recipients,
                refusal,
                mail_from=message.mail_from,
                friendly_from=friendly_from,
                peer_ip=message.peer_ip,
                content=PrebuiltContent(message.data, as_given=True),
            )
            stream.emit(events)
        raise


def _from_address(fields: list[Field]) -> str:
    try:
        return from_mailbox(fields).email
    except ValueError:
        raise invalid_domain("No sending domain specified") from None


def _resolve(transmission: Transmission, sender: Sender, mail_from: str) -> Transmission:
    """Return the transmission with its options in force and its return path."""
    defaults = sender.defaults("smtp_tracking_default")
    return replace(
        transmission,
        options=options_in_force(transmission.options, {}, defaults),
        defaults=defaults,
        return_path=_return_path(transmission, sender, mail_from),
    )


def _return_path(transmission: Transmission, sender: Sender, mail_from: str) -> str:
    """Return MAIL FROM where it counts, else "": bounces go to the sender's bounce domain.

    It counts whole for an enterprise account, and by its domain where that is verified to take the
    sender's bounces. Any other is no error: clients give the address that they are set up with.
    """
    if not is_address(mail_from):
        return ""
    if sender.account.is_enterprise:
        return mail_from
    name = domain_of(mail_from)
    is_from_domain = sender.domain is not None and name == sender.domain.domain
    domain = sender.domain if is_from_domain else domains.get(name)
    if domain is None or not domain.may_take_bounces:
        return ""
    owner = transmission.account_id, transmission.subaccount_id
    return mail_from if domain.usable_by(*owner) else ""


def _received_field(transmission_id: str, peer_ip: str) -> bytes:
    """Return the trace field that every host which takes a message adds (RFC 5321 4.4)."""
    date = format_datetime(datetime.fromtimestamp(int(clock.now()), UTC))
    host = settings().mail_hostname
    literal = f"IPv6:{peer_ip}" if ":" in peer_ip else peer_ip
    return (
        f"Received: from [{literal}] by {host} (Postfinch)\r\n"
        f" with ESMTPSA id {transmission_id}; {date}\r\n"
    ).encode()
