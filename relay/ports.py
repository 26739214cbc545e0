"""What stands behind the relay: who may send, and who takes the messages.

The relay speaks the protocol and knows nothing of stores. Everything here that is called is
blocking and is called from worker threads, several at a time. A refusal is an exception that
carries its reply; any other exception becomes 451 4.3.0 with an id that the log explains.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from relay import replies
from relay.replies import Reply


class Refusal(Exception):
    """Ends a command with a reply."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(f"{reply.code} {reply.enhanced} {reply.text}")
        self.reply = reply


class Refused(Refusal):
    """A sender or a message is refused for good: `Refused(550, "5.7.1", "why")`."""

    def __init__(self, code: int, enhanced: str, text: str) -> None:
        super().__init__(Reply(code, enhanced, text))


class LoginRefused(Refusal):
    """A login is refused: 535 5.7.8 unless another reply is given."""

    def __init__(self, reply: Reply = replies.LOGIN_FAILED) -> None:
        super().__init__(reply)


class Unavailable(Refusal):
    """A store cannot be reached now: the client tries again later (451 4.3.0)."""

    def __init__(self, text: str = "Temporary failure, try again later") -> None:
        super().__init__(Reply(451, "4.3.0", text))


@dataclass(frozen=True, slots=True)
class Identity:
    """Who a connection sends for; `subaccount_id` None is the primary account."""

    account_id: int
    subaccount_id: int | None
    key_id: str


@dataclass(frozen=True, slots=True)
class Envelope:
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
        """The sender whose API key `password` is, or LoginRefused."""


class Acceptor(Protocol):
    """Takes the messages of senders who logged in."""

    def accept(self, identity: Identity, envelope: Envelope) -> str:
        """The id of the message once it is stored for good; otherwise Refused or Unavailable."""


class InboundAcceptor(Protocol):
    """Takes the reports that come back to the service's own addresses."""

    def accept(self, envelope: Envelope) -> str:
        """The id of the message once it is stored for good; otherwise Refused or Unavailable."""
