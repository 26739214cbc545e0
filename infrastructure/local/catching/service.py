"""Take every message of a session of the relay, and store it in the mailbox."""

from __future__ import annotations

from collections.abc import Callable

from infrastructure.local.catching.batch import StoringBatch
from infrastructure.local.catching.inboxes import divided
from infrastructure.local.sink.mailbox import SinkMailbox
from infrastructure.local.sink.trace import Trace
from relay.backend import SubmittedEnvelope
from relay.errors import LoginRefused
from relay.login import Login
from relay.replies import Reply
from relay.services import RunBlocking

#: Tells whether a login is right
LoginCheck = Callable[[Login], bool]


def any_login(login: Login) -> bool:
    """Take any name with any password."""
    return True


class Catching:
    """Takes mail from anyone to anyone; whom it is for are the inboxes of the mailbox."""

    def __init__(
        self, mailbox: SinkMailbox, inbox_by: str = "", is_right: LoginCheck = any_login
    ) -> None:
        self._mailbox = mailbox
        self._inbox_by = inbox_by
        self._is_right = is_right
        self._batch = StoringBatch(mailbox)

    @property
    def name(self) -> str:
        """Catching."""
        return "catching"

    @property
    def takes_logins(self) -> bool:
        """Yes: clients may log in, and need not."""
        return True

    async def log_in(self, run_blocking: RunBlocking, login: Login, peer_ip: str) -> str:
        """Return the name of the login; raises LoginRefused if there are passwords."""
        if not await run_blocking(self._is_right, login):
            raise LoginRefused
        return login.username

    def subaccount_of(self, login: Login) -> int | None:
        """Return none."""
        return None

    async def check_recipient(
        self, run_blocking: RunBlocking, identity: str | None, recipient: str
    ) -> None:
        """Take every recipient."""

    def begun(self, envelope: SubmittedEnvelope) -> SubmittedEnvelope:
        """Add nothing."""
        return envelope

    async def accept(
        self, run_blocking: RunBlocking, identity: str | None, envelope: SubmittedEnvelope
    ) -> str:
        """Store the message, in each of its inboxes; return the id of the first one."""
        if isinstance(envelope.data, bytes):
            return await self._batch.store(self._copies(identity or "", envelope))
        message_id: str = await run_blocking(self._store_large, identity or "", envelope)
        return message_id

    async def rejected(
        self, run_blocking: RunBlocking, envelope: SubmittedEnvelope, reply: Reply
    ) -> None:
        """Do nothing: the sender has the reply."""

    def _store_large(self, login: str, envelope: SubmittedEnvelope) -> str:
        return self._mailbox.store_all(self._copies(login, envelope))[0]

    def _copies(self, login: str, envelope: SubmittedEnvelope) -> list[tuple[Trace, bytes]]:
        """Return the message for each of its inboxes."""
        message = envelope.data[:]
        return [
            (Trace(envelope.mail_from, tuple(recipients), inbox=inbox, login=login), message)
            for inbox, recipients in divided(self._inbox_by, login, envelope.recipients).items()
        ]
