"""Watch the mailbox for the live stream."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from infrastructure.local.gateway.mailbox_endpoint import MailboxEndpoint
from infrastructure.local.mailbox.mailbox import SinkMailbox

#: The most messages that are told one by one, of those that arrived since the last look
MOST_MESSAGES = 300


class MailboxNews:
    """What is new in the mailbox; one thread at a time may ask."""

    def __init__(self, mailbox: SinkMailbox, endpoint: MailboxEndpoint) -> None:
        self._mailbox = mailbox
        self._endpoint = endpoint
        self._newest = 0
        self._version: Any = None
        self._counts: dict[str, int] = {}

    def begin(self) -> None:
        """Forget what happened before now."""
        self._version = self._mailbox.index.version()
        self._newest = self._mailbox.index.newest()
        self._counts = self.counts()

    def counts(self) -> dict[str, int]:
        """Return the numbers of messages and of unread ones."""
        return self._endpoint.counts()

    def news(self) -> Iterator[tuple[str, Any]]:
        """Yield the entries of messages that arrived, and the counts if they changed."""
        version = self._mailbox.index.version()
        if version == self._version:
            return
        rows = self._mailbox.index.rows_after(self._newest, MOST_MESSAGES + 1)
        if len(rows) > MOST_MESSAGES:
            self._newest = self._mailbox.index.newest()
            yield "gap", {}
        elif rows:
            for entry in self._endpoint.entries(rows):
                yield "message", entry
            self._newest = rows[-1].uid
        self._version = version
        counts = self.counts()
        if counts != self._counts:
            self._counts = counts
            yield "mailbox", counts
