"""Offer two services to a relay session: submission with a login, and mail from elsewhere.

A service gets `run_blocking`, which runs a blocking call in a worker thread and awaits its result.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Protocol

from chalicelib.core.addresses import is_address
from chalicelib.inbound_domains.model import InboundDomain
from relay import replies
from relay.backend import Acceptor, Authenticator, Identity, InboundAcceptor, SubmittedEnvelope
from relay.errors import LoginRefused, SmtpRefusal
from relay.login import Login, subaccount_of
from relay.replies import Reply

RunBlocking = Callable[..., Awaitable[Any]]


class Service(Protocol):
    """The interface between a session and a service; every method may raise Refusal."""

    @property
    def name(self) -> str:
        """The name of the service in the log."""

    @property
    def takes_logins(self) -> bool:
        """Whether clients can log in by AUTH."""

    async def log_in(self, run_blocking: RunBlocking, login: Login, peer_ip: str) -> Any:
        """Return whom the client sends for, which the other methods are given."""

    def subaccount_of(self, login: Login) -> int | None:
        """Return the subaccount whose failed logins are counted together, None if there is none."""

    def check_sender(self, identity: Any, sender: str) -> None:
        """Raise Refusal if the service takes no mail from the envelope sender."""

    async def check_recipient(
        self, run_blocking: RunBlocking, identity: Any, recipient: str
    ) -> InboundDomain | None:
        """Raise Refusal if the service takes no mail for the recipient.

        Return the inbound domain that it is at, if it is at one.
        """

    def begun(self, envelope: SubmittedEnvelope) -> SubmittedEnvelope:
        """Return the envelope of a message that begins to arrive, with what the service adds."""

    async def accept(
        self, run_blocking: RunBlocking, identity: Any, envelope: SubmittedEnvelope
    ) -> str:
        """Store the message and return its id."""

    async def rejected(
        self, run_blocking: RunBlocking, envelope: SubmittedEnvelope, reply: Reply
    ) -> None:
        """Take note of a message that was refused for good (5xx) after its recipients."""


@dataclass(frozen=True, slots=True)
class Submission:
    """Takes mail to anyone from senders who have logged in."""

    authenticator: Authenticator
    acceptor: Acceptor

    @property
    def name(self) -> str:
        """Submission."""
        return "submission"

    @property
    def takes_logins(self) -> bool:
        """Yes: nothing is accepted without a login."""
        return True

    async def log_in(self, run_blocking: RunBlocking, login: Login, peer_ip: str) -> Identity:
        """Ask the authenticator."""
        subaccount = subaccount_of(login.username)
        return await run_blocking(
            self.authenticator.authenticate, login.password, subaccount, peer_ip
        )

    def subaccount_of(self, login: Login) -> int | None:
        """Return the one that the username names."""
        try:
            return subaccount_of(login.username)
        except LoginRefused:
            return None

    def check_sender(self, identity: Identity | None, sender: str) -> None:
        """Take every envelope sender."""

    async def check_recipient(
        self, run_blocking: RunBlocking, identity: Identity | None, recipient: str
    ) -> None:
        """Refuse to relay without a login, and refuse an invalid address."""
        if identity is None:
            raise SmtpRefusal(replies.RELAYING_DENIED)
        if not is_address(recipient):
            raise SmtpRefusal(replies.BAD_ADDRESS)

    def begun(self, envelope: SubmittedEnvelope) -> SubmittedEnvelope:
        """Add nothing: the message that is sent is made from this one."""
        return envelope

    async def accept(
        self, run_blocking: RunBlocking, identity: Identity | None, envelope: SubmittedEnvelope
    ) -> str:
        """Pass the message to the acceptor."""
        return await run_blocking(self.acceptor.accept, identity, envelope)

    async def rejected(
        self, run_blocking: RunBlocking, envelope: SubmittedEnvelope, reply: Reply
    ) -> None:
        """Do nothing: the sender has the reply."""


@dataclass(frozen=True, slots=True)
class Inbound:
    """Takes mail from anyone to the addresses that are served."""

    acceptor: InboundAcceptor

    @property
    def name(self) -> str:
        """Inbound."""
        return "inbound"

    @property
    def takes_logins(self) -> bool:
        """No."""
        return False

    async def log_in(self, run_blocking: RunBlocking, login: Login, peer_ip: str) -> Identity:
        """Refuse: this service has no logins."""
        raise LoginRefused

    def subaccount_of(self, login: Login) -> int | None:
        """Return none."""
        return None

    def check_sender(self, identity: Identity | None, sender: str) -> None:
        """Take every envelope sender."""

    async def check_recipient(
        self, run_blocking: RunBlocking, identity: Identity | None, recipient: str
    ) -> InboundDomain | None:
        """Refuse an address that is not the service's own and at no inbound domain."""
        place: InboundDomain | None = await run_blocking(self.acceptor.place_of, recipient)
        return place

    def begun(self, envelope: SubmittedEnvelope) -> SubmittedEnvelope:
        """Add what the acceptor adds."""
        return self.acceptor.begun(envelope)

    async def accept(
        self, run_blocking: RunBlocking, identity: Identity | None, envelope: SubmittedEnvelope
    ) -> str:
        """Pass the message to the acceptor."""
        return await run_blocking(self.acceptor.accept, envelope)

    async def rejected(
        self, run_blocking: RunBlocking, envelope: SubmittedEnvelope, reply: Reply
    ) -> None:
        """Let the acceptor record it for the recipients at inbound domains."""
        if any(envelope.places):
            await run_blocking(self.acceptor.rejected, envelope, reply)
