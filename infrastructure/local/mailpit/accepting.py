"""Take in the messages of `POST /send`, in the way of those that the catching port takes."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from infrastructure.local.catching.choices import SEND, CatchChoices
from infrastructure.local.mailbox.arrival import copies_of
from infrastructure.local.mailbox.mailbox import SinkMailbox
from infrastructure.local.mailbox.tags import TagChoices
from infrastructure.local.mailbox.trace import Trace
from infrastructure.local.mailpit.sending import BadMessage, BuiltMessage, build
from infrastructure.local.messages.parts import StoredMessage

T = TypeVar("T")

_PEER = "127.0.0.1"
# How long the service may take to bring a message that goes through it into the mailbox
_ARRIVAL_SECONDS = 3.0
_MOST_ARRIVALS = 500
# Building a large message takes several times its size of memory
_turn = threading.Lock()


@dataclass(frozen=True, slots=True)
class Acceptance:
    """Takes messages in; with ``CATCH=send`` they are sent with the account's key."""

    mailbox: SinkMailbox
    choices: CatchChoices
    tags: TagChoices
    api_key: str = ""

    def __call__(self, document: dict[str, Any], login: str) -> str:
        """Take a message in, and return its id in the mailbox; raises BadMessage."""
        with _turn:
            message = build(document)
        if self.choices.way == SEND:
            return self._send(message)
        return self._store(message, login)

    def _store(self, message: BuiltMessage, login: str) -> str:
        trace = Trace(message.sender, message.recipients, login=login)
        copies = copies_of(trace, message.content, self.choices.inbox_by, self.tags)
        return self.mailbox.store_all(copies)[0]

    def _send(self, message: BuiltMessage) -> str:
        """Send a message; return its id in the mailbox, or that of its transmission.

        The service brings it there a moment later.
        """
        newest = self.mailbox.index.newest()
        transmission_id = self._submit(message)
        header_id = _header_id(message.content)
        until = time.monotonic() + _ARRIVAL_SECONDS
        while time.monotonic() < until:
            for row in self.mailbox.index.rows_after(newest, _MOST_ARRIVALS):
                newest = row.uid
                if _header_id(self.mailbox.read(row.id) or b"") == header_id:
                    return row.id
            time.sleep(0.02)
        return transmission_id

    def _submit(self, message: BuiltMessage) -> str:
        """Send a message as the catching port does; logins and TLS are that port's own."""
        # Imported here: most services send nothing in this way
        from infrastructure.local.catching.gate import Gate
        from infrastructure.local.catching.sending import sending
        from relay.backend import SubmittedEnvelope
        from relay.errors import SmtpRefusal

        service = sending(Gate(), self.api_key)
        envelope = SubmittedEnvelope(
            message.sender,
            message.recipients,
            message.content,
            _PEER,
            smtp_utf8=not message.content.isascii(),
        )
        try:
            return asyncio.run(service.accept(_run, None, envelope))
        except SmtpRefusal as refusal:
            raise BadMessage(f"the message is not sent: {refusal}") from None


async def _run(call: Callable[..., T], *arguments: Any) -> T:
    """Run a call in this thread, which is there to wait."""
    return call(*arguments)


def _header_id(source: bytes) -> str:
    return StoredMessage(source).header("Message-ID")
