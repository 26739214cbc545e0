"""Interfaces of what the relay calls: who may send, and who takes the messages.

The relay speaks SMTP and knows nothing of stores. Implementations block; worker threads call them,
several at a time. They refuse by raising one of `relay.errors`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


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
    dot-stuffing and without the end mark.
    """

    mail_from: str
    recipients: tuple[str, ...]
    data: bytes
    peer_ip: str
    smtp_utf8: bool


class Authenticator(Protocol):
    """Checks a login (spec 5, rule 7)."""

    def authenticate(self, password: str, subaccount: int | None, peer_ip: str) -> Identity:
        """Return the sender of the API key `password`; raises LoginRefused."""


class Acceptor(Protocol):
    """Takes the messages of senders who logged in."""

    def accept(self, identity: Identity, envelope: SubmittedEnvelope) -> str:
        """Return the id of the message when it is stored; raises Refused or Unavailable."""


class InboundAcceptor(Protocol):
    """Takes the reports that come back to the service's own addresses."""

    def accept(self, envelope: SubmittedEnvelope) -> str:
        """Return the id of the message when it is stored; raises Refused or Unavailable."""
