"""Receive mail for inbound domains: say which recipients are served, and queue what arrived.

- An address that the service gave out itself goes where such mail goes (``accept``), also at an
  inbound domain.
- Every other address at a registered inbound domain is served, whatever its local part.
- A message that loops is refused for the recipients that it came to before, or altogether after
  too many hops. Each such recipient gets an event, ``relay_rejection``.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from chalicelib.core import clock
from chalicelib.core.spool import Octets
from chalicelib.events import stream
from chalicelib.inbound import accept, loops
from chalicelib.inbound.addresses import target_of
from chalicelib.inbound.loops import Hop
from chalicelib.inbound_domains import lookup
from chalicelib.inbound_domains.model import InboundDomain
from chalicelib.received_mail import inbound_queue
from chalicelib.received_mail.inbound_queue import InboundHead, InboundRecipient
from chalicelib.relaying import relay_events

_log = logging.getLogger(__name__)

_LOOP_CODE = 554
_LOOP_REASON = "5.4.6 The message was here before"


class MessageLoops(Exception):
    """The message loops for all its recipients at inbound domains."""


@dataclass(frozen=True, slots=True)
class InboundMessage:
    """The envelope of a message, with the inbound domain of each recipient, or ``None``."""

    hop: Hop
    mail_from: str
    places: tuple[InboundDomain | None, ...]
    trace: bytes = field(default=b"", compare=False)

    def inbound(self) -> Iterator[InboundRecipient]:
        """Yield the recipients at inbound domains."""
        for index, (address, place) in enumerate(
            zip(self.hop.recipients, self.places, strict=True)
        ):
            if place is not None:
                yield {
                    "index": index,
                    "address": address,
                    "account_id": place.account_id,
                    "subaccount_id": place.subaccount_id,
                    "domain": place.domain,
                }

    def own(self) -> list[str]:
        """Return the recipients that are the service's own addresses."""
        pairs = zip(self.hop.recipients, self.places, strict=True)
        return [address for address, place in pairs if place is None]


def place_of(address: str) -> InboundDomain | None:
    """Return the inbound domain of a recipient, ``None`` for an address of the service's own.

    Raises ``accept.NoSuchAddress`` and ``accept.NotServed`` for every other one. A signed address
    is the service's own at an inbound domain too; the names of ``fbl``, ``dmarc`` and ``tlsrpt``
    are so only at domains that the service sends for.
    """
    refusal: Exception
    try:
        accept.check_recipient(address)
    except (accept.NoSuchAddress, accept.NotServed) as error:
        refusal = error
    else:
        return None
    place = lookup.registered(address.rpartition("@")[2])
    if place is None:
        raise refusal
    target = target_of(address)
    return None if target is not None and target.message_id else place


def new_id() -> str:
    """Return the id of a message that is received now."""
    return inbound_queue.new_id(secrets.token_hex(6))


def trace_of(message: InboundMessage) -> bytes:
    """Return the Received field of a message."""
    return loops.received_field(message.hop, (each["address"] for each in message.inbound()))


def store(message: InboundMessage, octets: Octets) -> None:
    """Queue the message, which begins with its trace; return when it is stored.

    Raises :class:`MessageLoops` if it loops for all its recipients at inbound domains, without an
    event; if it loops for some, the others get it.
    """
    recipients = list(message.inbound())
    header = loops.header_of(octets, len(message.trace))
    if loops.hops(header) > loops.MOST_HOPS:
        raise MessageLoops
    traces = loops.traces(header)
    again = [each for each in recipients if loops.came_before(each["address"], traces)]
    if len(again) == len(recipients):
        raise MessageLoops
    if again:
        _emit_rejections(message, again, _LOOP_CODE, _LOOP_REASON)
    rest = [each for each in recipients if each not in again]
    inbound_queue.store(_head(message, rest, len(octets)), octets)
    _log.info("received %s for %d recipients at inbound domains", message.hop.id, len(rest))


def reject(message: InboundMessage, code: int, reason: str) -> None:
    """Queue an event for each recipient at an inbound domain: the message was refused for good."""
    _emit_rejections(message, list(message.inbound()), code, reason)


def _emit_rejections(
    message: InboundMessage, recipients: Sequence[InboundRecipient], code: int, reason: str
) -> None:
    at_ms = clock.now_ms()
    stream.emit(
        [
            relay_events.rejection(
                recipient,
                message_id=message.hop.id,
                mail_from=message.mail_from,
                peer_ip=message.hop.peer_ip,
                at_ms=at_ms,
                code=code,
                reason=reason,
            )
            for recipient in recipients
        ]
    )


def _head(message: InboundMessage, recipients: list[InboundRecipient], size: int) -> InboundHead:
    return {
        "id": message.hop.id,
        "received_ms": message.hop.received_ms,
        "mail_from": message.mail_from,
        "peer_ip": message.hop.peer_ip,
        "helo": message.hop.helo,
        "tls": message.hop.tls,
        "size": size,
        "recipients": recipients,
    }
