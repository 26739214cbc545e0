"""Take in the messages of `POST /send`, in the way of those that the catching port takes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from infrastructure.local.catching.choices import SEND, CatchChoices
from infrastructure.local.mailbox.arrival import copies_of
from infrastructure.local.mailbox.mailbox import SinkMailbox
from infrastructure.local.mailbox.tags import TagChoices
from infrastructure.local.mailbox.trace import Trace
from infrastructure.local.mailpit.sending import BadMessage, BuiltMessage, build
from infrastructure.local.messages.parts import StoredMessage
from relay.backend import SubmittedEnvelope
from relay.errors import SmtpRefusal

#: Sends a message for a login name through the service; returns the id of the transmission
Send = Callable[[str, BuiltMessage], str]

# How long the service may take to bring a message that goes through it into the mailbox
_ARRIVAL_SECONDS = 3.0
_MOST_ARRIVALS = 500
# Building a large message takes several times its size of memory
_turn = threading.Lock()


@dataclass(frozen=True, slots=True)
class Acceptance:
    """Takes messages in; with ``CATCH=send`` they go through the service (``send``)."""

    mailbox: SinkMailbox
    choices: CatchChoices
    tags: TagChoices
    send: Send

    def __call__(self, document: dict[str, Any], login: str) -> str:
        """Take a message in, and return its id in the mailbox; raises BadMessage."""
        with _turn:
            message = build(document)
        if self.choices.way == SEND:
            return self._send(message, login)
        return self._store(message, login)

    def _store(self, message: BuiltMessage, login: str) -> str:
        trace = Trace(message.sender, message.recipients, login=login)
        copies = copies_of(trace, message.content, self.choices.inbox_by, self.tags)
        return self.mailbox.store_all(copies)[0]

    def _send(self, message: BuiltMessage, login: str) -> str:
        """Send a message; return its id in the mailbox, or that of the transmission.

        The service brings it there a moment later.
        """
        newest = self.mailbox.index.newest()
        try:
            transmission_id = self.send(login, message)
        except SmtpRefusal as refusal:
            raise BadMessage(f"the message cannot be sent: {refusal}") from None
        header_id = _header_id(message.content)
        until = time.monotonic() + _ARRIVAL_SECONDS
        while time.monotonic() < until:
            for row in self.mailbox.index.rows_after(newest, _MOST_ARRIVALS):
                newest = row.uid
                if _header_id(self.mailbox.read(row.id) or b"") == header_id:
                    return row.id
            time.sleep(0.02)
        return transmission_id


def sending_with(api_key: str) -> Send:
    """Return what sends messages as the catching port does, with the account's key."""

    def send(login: str, message: BuiltMessage) -> str:
        # Imported here: no other request of the port needs it
        from infrastructure.local.catching.gate import Gate
        from infrastructure.local.catching.sending import sending

        envelope = SubmittedEnvelope(
            mail_from=message.sender,
            recipients=message.recipients,
            data=message.content,
            peer_ip="127.0.0.1",
            smtp_utf8=not message.content.isascii(),
        )
        return sending(Gate(), api_key).send(login, envelope)

    return send


def _header_id(source: bytes) -> str:
    return StoredMessage(source).header("Message-ID")
