"""Interfaces of what the relay calls: who may send, and who takes the messages.

The relay speaks SMTP and knows nothing of stores. Implementations block; worker threads call them,
several at a time. They refuse by raising one of `relay.errors`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from chalicelib.core.spool import Octets
from chalicelib.inbound_domains.model import InboundDomain
from relay.replies import Reply


@dataclass(frozen=True, slots=True)
class Identity:
    """The account that a connection sends for; `subaccount_id` None is the primary account."""

    account_id: int
    subaccount_id: int | None
    key_id: str


@dataclass(frozen=True, slots=True)
class SubmittedEnvelope:
    """A message as received.

    `mail_from` is empty for the null reverse-path. `data` has CRLF line ends only, without
    dot-stuffing and without the end mark. `places` has the inbound domain of each recipient, None
    for one that is at none. `tls` is the version of TLS, empty without.

    A message from elsewhere has an id before it arrives, and `data` begins with `trace`, the
    Received field (RFC 5321 4.4).
    """

    mail_from: str
    recipients: tuple[str, ...]
    data: Octets
    peer_ip: str
    smtp_utf8: bool
    places: tuple[InboundDomain | None, ...] = ()
    helo: str = ""
    tls: str = ""
    id: str = ""
    received_ms: int = 0
    trace: bytes = b""


class Authenticator(Protocol):
    """Checks a login (spec 5, rule 7)."""

    def authenticate(self, password: str, subaccount: int | None, peer_ip: str) -> Identity:
        """Return the sender of the API key `password`; raises LoginRefused."""


class Acceptor(Protocol):
    """Takes the messages of senders who logged in."""

    def accept(self, identity: Identity, envelope: SubmittedEnvelope) -> str:
        """Return the id of the message when it is stored; raises Refused or Unavailable."""


class InboundAcceptor(Protocol):
    """Takes mail from elsewhere: to the service's own addresses, and to inbound domains."""

    def place_of(self, recipient: str) -> InboundDomain | None:
        """Return the inbound domain of a recipient, None for one of the service's own addresses.

        Blocks. Raises SmtpRefusal for every other recipient.
        """

    def begun(self, envelope: SubmittedEnvelope) -> SubmittedEnvelope:
        """Return the envelope with the id and the trace of a message that begins to arrive."""

    def accept(self, envelope: SubmittedEnvelope) -> str:
        """Return the id of the message when it is stored; raises Refused or Unavailable."""

    def rejected(self, envelope: SubmittedEnvelope, reply: Reply) -> None:
        """Record that a message was refused for good after its recipients; never raises."""
