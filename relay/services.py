"""The two services a relay session can front: submission with a login, and inbound reports.

A service gets `ask`, which runs a blocking call in the worker threads and awaits its value.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Protocol

from chalicelib.core.addresses import is_address
from relay import replies
from relay.backend import Acceptor, Authenticator, Envelope, Identity, InboundAcceptor
from relay.errors import LoginRefused, Refusal
from relay.login import Login

Ask = Callable[..., Awaitable[Any]]


class Service(Protocol):
    """What a session asks; every method may raise Refusal."""

    @property
    def name(self) -> str:
        """What the service is called in the log."""

    @property
    def takes_logins(self) -> bool:
        """Whether AUTH exists."""

    async def log_in(self, ask: Ask, login: Login, peer_ip: str) -> Identity:
        """Who the client is."""

    async def check_recipient(self, ask: Ask, identity: Identity | None, recipient: str) -> None:
        """Return when mail for the recipient is acceptable."""

    async def accept(self, ask: Ask, identity: Identity | None, envelope: Envelope) -> str:
        """Store the message and return its id."""


@dataclass(frozen=True, slots=True)
class Submission:
    """Mail of senders who log in, to anyone; to nobody without a login."""

    authenticator: Authenticator
    acceptor: Acceptor

    @property
    def name(self) -> str:
        """Submission."""
        return "submission"

    @property
    def takes_logins(self) -> bool:
        """Always: nothing is accepted without one."""
        return True

    async def log_in(self, ask: Ask, login: Login, peer_ip: str) -> Identity:
        """Ask the authenticator."""
        return await ask(self.authenticator.authenticate, login.password, login.subaccount, peer_ip)

    async def check_recipient(self, ask: Ask, identity: Identity | None, recipient: str) -> None:
        """Refuse to relay without a login, and what mail cannot be sent to."""
        if identity is None:
            raise Refusal(replies.RELAYING_DENIED)
        if not is_address(recipient):
            raise Refusal(replies.BAD_ADDRESS)

    async def accept(self, ask: Ask, identity: Identity | None, envelope: Envelope) -> str:
        """Hand over to the acceptor."""
        return await ask(self.acceptor.accept, identity, envelope)


@dataclass(frozen=True, slots=True)
class Inbound:
    """Mail of anyone to the addresses for which `wanted` (blocking) says yes."""

    wanted: Callable[[str], bool]
    acceptor: InboundAcceptor

    @property
    def name(self) -> str:
        """Inbound."""
        return "inbound"

    @property
    def takes_logins(self) -> bool:
        """Never."""
        return False

    async def log_in(self, ask: Ask, login: Login, peer_ip: str) -> Identity:
        """There are no logins here."""
        raise LoginRefused

    async def check_recipient(self, ask: Ask, identity: Identity | None, recipient: str) -> None:
        """Refuse what is not an address of the service."""
        if not await ask(self.wanted, recipient):
            raise Refusal(replies.RELAYING_DENIED)

    async def accept(self, ask: Ask, identity: Identity | None, envelope: Envelope) -> str:
        """Hand over to the acceptor."""
        return await ask(self.acceptor.accept, envelope)
