"""Find the messages that requests of Mailpit's API are about."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from infrastructure.local.mailbox.mailbox import SinkMailbox
from infrastructure.local.mailbox.query_terms import BadQuery
from infrastructure.local.mailbox.rows import Condition, Details, Row
from infrastructure.local.mailpit.query import mailpit_conditions_of
from infrastructure.local.mailpit.router import MailpitError, MailpitRequest, NotFound
from infrastructure.local.mailpit.view import summary_of
from infrastructure.local.messages.details import Detailer
from infrastructure.local.messages.parts import StoredMessage

#: The id that stands for the message that came last, or the last one that a search finds
LATEST = "latest"
# How long one search works out details that it needs
_SEARCH_SECONDS = 10.0


class MessageEntry(NamedTuple):
    """A message with what the index knows of it."""

    row: Row
    details: Details
    message: StoredMessage


class Messages:
    """The messages of the mailbox; ``catch_up`` is called before what came last is looked at."""

    def __init__(
        self,
        mailbox: SinkMailbox,
        detailer: Detailer,
        catch_up: Callable[[], None] = lambda: None,
    ) -> None:
        self.mailbox = mailbox
        self._detailer = detailer
        self._catch_up = catch_up

    def of_path(self, request: MailpitRequest) -> MessageEntry:
        """Return the message of the parameter ``id``; raises NotFound."""
        return self.entry(self.id_of(request, request.parameters["id"]))

    def id_of(self, request: MailpitRequest, message_id: str) -> str:
        """Return an id, that of the latest message for ``latest``; raises MailpitError."""
        if message_id != LATEST:
            return message_id
        query = request.query.get("query", "").strip()
        conditions = self.conditions(query, request.query) if query else []
        rows = self.search(conditions, 1)
        if not rows:
            raise NotFound("Message not found")
        return rows[0].id

    def entry(self, message_id: str) -> MessageEntry:
        """Return a message; raises NotFound."""
        self._catch_up()
        row = self.mailbox.index.row(message_id)
        source = self.mailbox.read(message_id) if row else None
        details = self._detailer.details([message_id]).get(message_id) if row else None
        if row is None or source is None or details is None:
            raise NotFound
        return MessageEntry(row, details, StoredMessage(source))

    def conditions(self, query: str, parameters: Mapping[str, str]) -> list[Condition]:
        """Return the conditions of a search; raises MailpitError."""
        try:
            return mailpit_conditions_of(query, parameters.get("tz", ""))
        except BadQuery as error:
            raise MailpitError(400, str(error)) from None

    def search(self, conditions: Sequence[Condition], limit: int, offset: int = 0) -> list[Row]:
        """Return the newest rows that match, without the first ``offset`` ones."""
        self.prepare(conditions)
        return self.mailbox.index.search(conditions, limit, offset=offset)

    def ids(self, conditions: Sequence[Condition]) -> list[str]:
        """Return the ids of all messages that match."""
        self.prepare(conditions)
        return self.mailbox.index.ids(conditions)

    def prepare(self, conditions: Sequence[Condition]) -> None:
        """Work out what a search needs."""
        self._catch_up()
        self._detailer.complete_for(conditions, None, _SEARCH_SECONDS)

    def summaries(self, rows: Sequence[Row]) -> list[dict[str, Any]]:
        """Return what a list shows of messages; those that are deleted meanwhile are left out."""
        details = self._detailer.details([row.id for row in rows])
        return [summary_of(row, details[row.id]) for row in rows if row.id in details]
