"""Take in the messages of `POST /send`, in the way of those that the catching port takes."""

from __future__ import annotations

import smtplib
import threading
import time
from dataclasses import dataclass
from typing import Any

from infrastructure.local.catching.choices import SEND, CatchChoices
from infrastructure.local.mailbox.arrival import copies_of
from infrastructure.local.mailbox.mailbox import SinkMailbox
from infrastructure.local.mailbox.tags import TagChoices
from infrastructure.local.mailbox.trace import Trace
from infrastructure.local.mailpit.sending import BadMessage, BuiltMessage, build
from infrastructure.local.messages.parts import StoredMessage

_SMTP_SECONDS = 30.0
# How long the service may take to bring a message that goes through it into the mailbox
_ARRIVAL_SECONDS = 3.0
_MOST_ARRIVALS = 500
# Building a large message takes several times its size of memory
_turn = threading.Lock()


@dataclass(frozen=True, slots=True)
class Acceptance:
    """Takes messages in; with ``CATCH=send`` by SMTP, through the port on loopback."""

    mailbox: SinkMailbox
    choices: CatchChoices
    tags: TagChoices
    #: 0 if there is no port
    catch_port: int = 0

    def __call__(self, document: dict[str, Any], login: str) -> str:
        """Take a message in, and return its id in the mailbox; raises BadMessage."""
        with _turn:
            message = build(document)
        if self.choices.way == SEND and self.catch_port:
            return self._send(message)
        return self._store(message, login)

    def _store(self, message: BuiltMessage, login: str) -> str:
        trace = Trace(message.sender, message.recipients, login=login)
        copies = copies_of(trace, message.content, self.choices.inbox_by, self.tags)
        return self.mailbox.store_all(copies)[0]

    def _send(self, message: BuiltMessage) -> str:
        """Send a message by SMTP; return its id in the mailbox, or that of the reply.

        The service brings it there a moment later.
        """
        newest = self.mailbox.index.newest()
        try:
            reply = self._submit(message)
        except (OSError, smtplib.SMTPException) as error:
            raise BadMessage(f"the port of CATCH_PORT did not take the message: {error}") from None
        header_id = _header_id(message.content)
        until = time.monotonic() + _ARRIVAL_SECONDS
        while time.monotonic() < until:
            for row in self.mailbox.index.rows_after(newest, _MOST_ARRIVALS):
                newest = row.uid
                if _header_id(self.mailbox.read(row.id) or b"") == header_id:
                    return row.id
            time.sleep(0.02)
        return reply.split()[-1]

    def _submit(self, message: BuiltMessage) -> str:
        """Send a message by SMTP; return the text of the last reply."""
        with smtplib.SMTP("127.0.0.1", self.catch_port, timeout=_SMTP_SECONDS) as connection:
            connection.ehlo()
            options = [] if message.content.isascii() else ["BODY=8BITMIME", "SMTPUTF8"]
            steps = [connection.mail(message.sender, options)]
            steps += [connection.rcpt(each) for each in message.recipients]
            refusals = [(code, text) for code, text in steps if code >= 400]
            if refusals:
                raise smtplib.SMTPResponseException(*refusals[0])
            code, text = connection.data(message.content)
            if code >= 400:
                raise smtplib.SMTPResponseException(code, text)
            return text.decode("ascii", "replace")


def _header_id(source: bytes) -> str:
    return StoredMessage(source).header("Message-ID")
