"""Forward a received message to the address that a route names, as a new message.

- It is sent by the domain's owner, like any other message: it counts in the plan, has events, and
  stops at the suppression list. Only the route decides where it goes.
- From is at a sending domain of the owner, because DMARC of the author's domain would fail. The
  author stands in the name of From and in Reply-To.
- The envelope sender is the service's, so that bounces become events and nobody else gets them.
  This is why mail with a null reverse-path and automatic mail can be forwarded, too.
- The Received fields stay: by them a loop is found when the message comes again (``loops``).
- The id of the transmission follows from that of the received message, which is sent once.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass

from chalicelib.core import domain_names, ids, spool
from chalicelib.core.addresses import Mailbox, is_address
from chalicelib.core.errors import ApiError, ServiceError
from chalicelib.core.scope import PRIMARY, Scope
from chalicelib.core.spool import Octets
from chalicelib.mail_format import rfc822
from chalicelib.mail_format.address_list import mailboxes_field, read_addresses
from chalicelib.mail_format.encoded_words import readable
from chalicelib.mail_format.from_field import values_of
from chalicelib.mail_format.header_section import Field, split_head
from chalicelib.mail_format.headers import HeaderError
from chalicelib.received_mail.model import ReceivedMessage
from chalicelib.sending_domains import return_path, store
from chalicelib.sending_domains.lookup import find_usable
from chalicelib.transmissions.accept_smtp import SmtpMessage, accept_message

#: The local part of From at a domain that did not receive the message
LOCAL_PART = "forwarded"

# They were true of the message as its author sent it, or are not for the next host
_REMOVED = frozenset(
    {
        *("sender", "return-path", "bcc", "resent-bcc", return_path.HEADER.lower()),
        *("dkim-signature", "domainkey-signature", "authentication-results"),
        *("arc-seal", "arc-message-signature", "arc-authentication-results"),
    }
)
_FIELD_END = re.compile(rb"\r\n(?![ \t])")
# Encoded words may hold them, and a header field may not
_LINE_ENDS = re.compile(r"[\r\n]+")
_FIELD = re.compile(rb"([!-9;-~]+)[ \t]*:([^\0\r\n]*(?:\r\n[ \t][^\0\r\n]*)*)")
_LONGEST_NAME = 200
_OPTIONS = {"open_tracking": False, "click_tracking": False, "transactional": True}


class NotForwarded(Exception):
    """The message cannot be forwarded; the text begins with a code of SMTP and says why."""


@dataclass(frozen=True, slots=True)
class _Author:
    """Who wrote a message: the names and addresses of its From, and where answers go."""

    sender: Mailbox | None
    reply_to: tuple[Mailbox, ...]


def forward(message: ReceivedMessage, octets: Octets) -> str:
    """Send a message on, and return the id of its transmission; forwarding it again does no harm.

    Raises :class:`NotForwarded`.
    """
    virus = message.verdicts.get("virus") or {}
    if virus.get("is_infected"):
        raise NotForwarded("550 the virus scanner found something in the message")
    owner = message.account_id, message.subaccount_id
    try:
        domain = _sending_domain(message)
        sender = _address_at(domain, message)
        transmission_id = ids.repeatable_transmission_id(message.received_ms, message.id)
        # No name of this function keeps the new message: it may be large
        return accept_message(*owner, _envelope(message, octets, sender), transmission_id)
    except HeaderError as fault:
        raise NotForwarded(f"550 {fault}") from None
    except ServiceError as refusal:
        if refusal.status >= 500:
            raise
        raise NotForwarded(f"550 {refusal.text}") from None


def _envelope(message: ReceivedMessage, octets: Octets, sender: str) -> SmtpMessage:
    """Return the new message.

    It has no MAIL FROM: an enterprise account's would be kept, and get the bounces.
    """
    data = _forwarded(octets, sender, message.domain)
    return SmtpMessage("", [message.forward_to], data, message.peer_ip, options=dict(_OPTIONS))


def _sending_domain(message: ReceivedMessage) -> str:
    """Return the domain of From: that of the recipient, one above it, or any other of the owner.

    Raises :class:`NotForwarded` if the owner has none that may be sent from.
    """
    owner = message.account_id, message.subaccount_id
    for name in (message.domain, *domain_names.parents(message.domain)):
        with suppress(ApiError):
            return find_usable(name, *owner).domain
    for domain in store.readable_in(Scope(message.account_id, message.subaccount_id or PRIMARY)):
        if domain.usable_by(*owner) and domain.may_send:
            return domain.domain
    raise NotForwarded("550 the owner of the inbound domain has no verified sending domain")


def _address_at(domain: str, message: ReceivedMessage) -> str:
    local_part = message.rcpt_to.rpartition("@")[0].partition("+")[0]
    address = f"{local_part}@{domain}"
    return address if domain == message.domain and is_address(address) else f"{LOCAL_PART}@{domain}"


def _forwarded(octets: Octets, sender: str, inbound_domain: str) -> bytes:
    """Return the message with another From; what no header may hold is left out."""
    data = rfc822.normalise(octets[:])
    spool.leave(octets)
    head_end, body_start = split_head(data, 0, len(data))
    fields = _fields(data[:head_end])
    author = _author(fields)
    name = author.sender.name or author.sender.email if author.sender else "Unknown sender"
    mailbox = Mailbox(sender, f"{name[:_LONGEST_NAME].strip()} via {inbound_domain}")
    rest = [field for field in fields if field[0] not in (*_REMOVED, "reply-to")]
    rest = rfc822.replace_field(rest, mailboxes_field("From", [mailbox]))
    if author.reply_to:
        rest = rfc822.append(rest, mailboxes_field("Reply-To", author.reply_to))
    return rfc822.join(rest, memoryview(data)[body_start:])


def _fields(head: bytes) -> list[Field]:
    """Return the fields of a header section without its malformed lines."""
    matches = map(_FIELD.fullmatch, _FIELD_END.split(head.removesuffix(b"\r\n")))
    return [
        (match[1].decode("ascii").lower(), b"%s:%s\r\n" % (match[1], match[2]))
        for match in matches
        if match
    ]


def _author(fields: list[Field]) -> _Author:
    authors, reply_to = (_mailboxes(fields, name) for name in ("from", "reply-to"))
    return _Author(authors[0] if authors else None, reply_to or authors)


def _mailboxes(fields: list[Field], name: str) -> tuple[Mailbox, ...]:
    return tuple(
        Mailbox(email, _LINE_ENDS.sub(" ", readable(text or "")))
        for text, email in read_addresses(values_of(fields, name))
        if is_address(email)
    )
