"""Send every message of a session through the service, as if its sender had the account's key.

Nothing else is needed to send: no login, no verified domain. A login name in the relay's form names
a subaccount; any other is the primary account. What the service refuses is refused here as well.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from chalicelib.core.addresses import is_address
from chalicelib.core.settings import settings
from infrastructure.local.catching import from_domains
from infrastructure.local.catching.gate import Gate
from infrastructure.local.mailbox.login_field import with_login
from relay import replies
from relay.backend import Acceptor, Authenticator, Identity, SubmittedEnvelope
from relay.errors import SmtpRefusal
from relay.login import USERNAME, Login, subaccount_of
from relay.replies import Reply
from relay.services import RunBlocking
from relay.submission import ApiKeyAuthenticator, TransmissionAcceptor


@dataclass(frozen=True, slots=True)
class CatchLogin:
    """A login: its name, and whom it sends for."""

    name: str
    identity: Identity


class Sending:
    """Takes mail from anyone to any address; what is sent carries the name of the login."""

    def __init__(
        self, gate: Gate, api_key: str, authenticator: Authenticator, acceptor: Acceptor
    ) -> None:
        self._gate = gate
        self._api_key = api_key
        self._authenticator = authenticator
        self._acceptor = acceptor

    @property
    def name(self) -> str:
        """Catching."""
        return "catching"

    @property
    def takes_logins(self) -> bool:
        """Yes: clients may log in."""
        return True

    async def log_in(self, run_blocking: RunBlocking, login: Login, peer_ip: str) -> CatchLogin:
        """Return whom the login name stands for; raises LoginRefused for no such subaccount."""
        await self._gate.check_login(run_blocking, login)
        catch_login: CatchLogin = await run_blocking(self._login, login.username, peer_ip)
        return catch_login

    def subaccount_of(self, login: Login) -> int | None:
        """Return none: a login fails for its name or a file's password."""
        return None

    def check_sender(self, identity: CatchLogin | None, sender: str) -> None:
        """Take every sender that may go on."""
        self._gate.check_sender(identity)

    async def check_recipient(
        self, run_blocking: RunBlocking, identity: CatchLogin | None, recipient: str
    ) -> None:
        """Refuse what is no address, as the relay does."""
        self._gate.check_recipient(recipient)
        _check_address(recipient)

    def begun(self, envelope: SubmittedEnvelope) -> SubmittedEnvelope:
        """Add nothing: the message that is sent is made from this one."""
        return envelope

    async def accept(
        self, run_blocking: RunBlocking, identity: CatchLogin | None, envelope: SubmittedEnvelope
    ) -> str:
        """Make a transmission of the message; return its id."""
        transmission_id: str = await run_blocking(self._accept, identity, envelope)
        return transmission_id

    def send(self, username: str, envelope: SubmittedEnvelope) -> str:
        """Do the same for a message that came another way than by SMTP; raises SmtpRefusal."""
        for recipient in envelope.recipients:
            _check_address(recipient)
        return self._accept(self._login(username, envelope.peer_ip), envelope)

    async def rejected(
        self, run_blocking: RunBlocking, envelope: SubmittedEnvelope, reply: Reply
    ) -> None:
        """Do nothing: the sender has the reply."""

    def _login(self, username: str, peer_ip: str) -> CatchLogin:
        subaccount = subaccount_of(username) if _is_of_relay(username) else None
        identity = self._authenticator.authenticate(self._api_key, subaccount, peer_ip)
        return CatchLogin(username, identity)

    def _accept(self, login: CatchLogin | None, envelope: SubmittedEnvelope) -> str:
        login = login or self._login("", envelope.peer_ip)
        data = envelope.data[:]
        if name := from_domains.from_domain(data):
            from_domains.provide(name, login.identity)
        if login.name:
            envelope = replace(envelope, data=with_login(data, login.name))
        return self._acceptor.accept(login.identity, envelope)


def sending(gate: Gate, api_key: str) -> Sending:
    """Return the service that sends with the account's key."""
    return Sending(gate, api_key, ApiKeyAuthenticator(), TransmissionAcceptor())


def most_octets() -> int:
    """Return the size of the largest message that is sent."""
    return settings().max_message_bytes


def _check_address(recipient: str) -> None:
    if not is_address(recipient):
        raise SmtpRefusal(replies.BAD_ADDRESS)


def _is_of_relay(username: str) -> bool:
    return username.partition(":")[0] == USERNAME
