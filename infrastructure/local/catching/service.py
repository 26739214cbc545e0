"""Take every message of a session of the relay, and store it in the mailbox."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from infrastructure.local.catching.batch import StoringBatch
from infrastructure.local.catching.gate import Gate
from infrastructure.local.mailbox.arrival import copies_of
from infrastructure.local.mailbox.full_disk import FULL, is_full
from infrastructure.local.mailbox.mailbox import SinkMailbox
from infrastructure.local.mailbox.tags import DEFAULT, TagChoices
from infrastructure.local.mailbox.trace import Trace
from relay.backend import SubmittedEnvelope
from relay.errors import SmtpRefusal
from relay.login import Login
from relay.replies import Reply
from relay.services import RunBlocking

# RFC 3463 3.4
_FULL = Reply(452, "4.3.1", f"Not stored: {FULL}")


class Catching:
    """Takes mail from anyone to anyone; whom it is for are the inboxes of the mailbox."""

    def __init__(
        self,
        mailbox: SinkMailbox,
        inbox_by: str = "",
        gate: Gate | None = None,
        tags: TagChoices = DEFAULT,
    ) -> None:
        self._mailbox = mailbox
        self._inbox_by = inbox_by
        self._gate = gate or Gate()
        self._tags = tags
        self._batch = StoringBatch(mailbox)

    @property
    def name(self) -> str:
        """Catching."""
        return "catching"

    @property
    def takes_logins(self) -> bool:
        """Yes: clients may log in."""
        return True

    async def log_in(self, run_blocking: RunBlocking, login: Login, peer_ip: str) -> str:
        """Return the name of the login."""
        await self._gate.check_login(run_blocking, login)
        return login.username

    def subaccount_of(self, login: Login) -> int | None:
        """Return none."""
        return None

    def check_sender(self, identity: str | None, sender: str) -> None:
        """Take every sender that may go on."""
        self._gate.check_sender(identity)

    async def check_recipient(
        self, run_blocking: RunBlocking, identity: str | None, recipient: str
    ) -> None:
        """Take every recipient that may be there."""
        self._gate.check_recipient(recipient)

    def begun(self, envelope: SubmittedEnvelope) -> SubmittedEnvelope:
        """Add nothing."""
        return envelope

    async def accept(
        self, run_blocking: RunBlocking, identity: str | None, envelope: SubmittedEnvelope
    ) -> str:
        """Store the message, in each of its inboxes; return the id of the first one.

        Raises SmtpRefusal where the disk is full.
        """
        # Octets in memory need not be released, and are stored with those of other clients
        if isinstance(envelope.data, bytes):
            with _refusing_on_full_disk():
                return await self._batch.store(self._copies(identity or "", envelope))
        message_id: str = await run_blocking(self._store_large, identity or "", envelope)
        return message_id

    async def rejected(
        self, run_blocking: RunBlocking, envelope: SubmittedEnvelope, reply: Reply
    ) -> None:
        """Do nothing: the sender has the reply."""

    def _store_large(self, login: str, envelope: SubmittedEnvelope) -> str:
        with _refusing_on_full_disk():
            return self._mailbox.store_all(self._copies(login, envelope))[0]

    def _copies(self, login: str, envelope: SubmittedEnvelope) -> list[tuple[Trace, bytes]]:
        """Return the message for each of its inboxes."""
        trace = Trace(envelope.mail_from, tuple(envelope.recipients), login=login)
        return copies_of(trace, envelope.data[:], self._inbox_by, self._tags)


@contextmanager
def _refusing_on_full_disk() -> Iterator[None]:
    try:
        yield
    except (OSError, sqlite3.OperationalError) as error:
        if not is_full(error):
            raise
        raise SmtpRefusal(_FULL) from None
