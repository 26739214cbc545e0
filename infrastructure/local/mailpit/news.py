"""Watch the mailbox for the listeners of Mailpit's WebSocket, and tag by rules what comes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from typing import Any

from infrastructure.local.mailpit import VERSION
from infrastructure.local.mailpit.changes import Changes
from infrastructure.local.mailpit.listeners import Listeners
from infrastructure.local.mailpit.messages import Messages
from infrastructure.local.mailpit.tag_rules import TagRules

POLL_SECONDS = 0.05
#: The most messages that are told one by one, of those that arrived since the last look
MOST_MESSAGES = 200

log = logging.getLogger(__name__)


class News:
    """A companion of the gateway, which looks only if somebody listens, or if there are rules."""

    def __init__(
        self, messages: Messages, listeners: Listeners, rules: TagRules, changes: Changes
    ) -> None:
        self._messages = messages
        self._changes = changes
        self._listeners = listeners
        self._rules = rules
        self._task: asyncio.Task[None] | None = None
        self._version: Any = None
        self._newest = 0
        self._counts = (-1, -1)
        self._deleted = 0
        listeners.begin = self.greet

    async def start(self) -> None:
        """Begin, if there are rules."""
        if self._rules:
            self._watch()

    async def stop(self) -> None:
        """End."""
        self._listeners.close()
        if self._task:
            self._task.cancel()

    def greet(self) -> None:
        """Watch the mailbox for a listener that came, and tell it the numbers of messages."""
        self._watch()
        self._version = None

    def _watch(self) -> None:
        if self._task is None or self._task.done():
            self._newest = self._messages.mailbox.index.newest()
            self._counts, self._deleted = (-1, -1), self._changes.deleted
            self._task = asyncio.create_task(self._poll())

    async def _poll(self) -> None:
        while self._rules or self._listeners.number:
            try:
                for kind, data in await asyncio.to_thread(lambda: list(self._news())):
                    self._listeners.publish(kind, data)
            except Exception:
                log.exception("the listeners of Mailpit's API go without some news")
            await asyncio.sleep(POLL_SECONDS)

    def _news(self) -> Iterator[tuple[str, Any]]:
        index = self._messages.mailbox.index
        version = index.version()
        if version == self._version:
            return
        self._rules.catch_up()
        if not self._listeners.number:
            self._version, self._newest = version, index.newest()
            return
        rows = index.rows_after(self._newest, MOST_MESSAGES + 1)
        if len(rows) > MOST_MESSAGES:
            self._newest = index.newest()
            yield "prune", None
        elif rows:
            for summary in self._messages.summaries(rows):
                yield "new", summary
            self._newest = rows[-1].uid
        is_first = self._version is None
        if self._lacks_some(len(rows)):
            yield "prune", None
        self._version = version
        counts = index.counts()
        if counts != self._counts or is_first:
            self._counts = counts
            yield "stats", {"Total": counts[0], "Unread": counts[1], "Version": VERSION}

    def _lacks_some(self, arrivals: int) -> bool:
        """Tell whether others than this API deleted messages since the last look."""
        deleted, self._deleted = self._changes.deleted - self._deleted, self._changes.deleted
        expected = self._counts[0] + arrivals - deleted
        return self._counts[0] >= 0 and self._messages.mailbox.index.counts()[0] < expected
