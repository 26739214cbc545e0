"""Show the local mailbox over HTTP, under ``/local/mailbox``.

No key is needed: the endpoint exists only in the local runtime.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from chalicelib.core import cursors
from chalicelib.core.cursors import FIRST, BadCursor
from infrastructure.local.gateway import hostile_content
from infrastructure.local.gateway.local_api import (
    LocalError,
    LocalReply,
    LocalRequest,
    LocalRoute,
    NoSuchThing,
    results,
    whole_number,
)
from infrastructure.local.gateway.message_lookup import (
    MESSAGE,
    PART,
    PREFIX,
    message_of,
    part_of,
    row_of,
    source_of,
)
from infrastructure.local.mailbox.mailbox import SinkMailbox, entry_of
from infrastructure.local.mailbox.mailbox_query import conditions_of, simple_conditions
from infrastructure.local.mailbox.query_terms import BadQuery, of_inbox, of_subaccount
from infrastructure.local.mailbox.rows import Condition, Details, Row, tags_of
from infrastructure.local.messages.details import Detailer
from infrastructure.local.messages.parts import AMP, HTML, TEXT

INBOXES = "/local/inboxes"
DEFAULT_LIMIT = 100
MOST_LISTED = 10_000
MOST_DETAILED = 500
_FILTERS = ("to", "from", "subject", "subaccount", "inbox", "q")
# How long one request works out details that a search needs
SEARCH_SECONDS = 1.0


class MailboxEndpoint:
    """The operations of ``/local/mailbox`` over the sink's mailbox.

    ``way_out`` is by what mail leaves this machine instead, empty if none leaves.
    """

    def __init__(self, mailbox: SinkMailbox, detailer: Detailer, way_out: str = "") -> None:
        self._mailbox = mailbox
        self._way_out = way_out
        self._detailer = detailer

    def routes(self) -> list[LocalRoute]:
        """Return the routes."""
        return [
            LocalRoute("GET", PREFIX, self.list_messages),
            LocalRoute("PUT", PREFIX, self.flag_all),
            LocalRoute("DELETE", PREFIX, self.delete_all),
            LocalRoute("GET", MESSAGE, self.show_source),
            LocalRoute("PUT", MESSAGE, self.flag),
            LocalRoute("DELETE", MESSAGE, self.delete),
            LocalRoute("GET", f"{MESSAGE}/content", self.show_content),
            LocalRoute("GET", f"{MESSAGE}/html", self.show_html),
            LocalRoute("GET", f"{MESSAGE}/amp", self.show_amp),
            LocalRoute("GET", PART, self.show_part),
            LocalRoute("GET", INBOXES, self.list_inboxes),
        ]

    def list_messages(self, request: LocalRequest) -> LocalReply:
        """List the newest messages that match."""
        query = request.query
        has_details = query.get("details") == "true"
        most = MOST_DETAILED if has_details else MOST_LISTED
        limit = whole_number(query, "limit", DEFAULT_LIMIT, most)
        conditions = _conditions(query)
        before = _position(query)
        since = self._detailer.complete_for(conditions, before, SEARCH_SECONDS)
        rows = self._mailbox.index.search(conditions, limit, before, since)
        end = rows[-1].uid if limit and len(rows) == limit else since
        return results(
            self.entries(rows) if has_details else [entry_of(row) for row in rows],
            counts=self.counts(),
            leaves_by=self._way_out or None,
            links={"next": _link(query, end)} if end else {},
        )

    def list_inboxes(self, request: LocalRequest) -> LocalReply:
        """List the inboxes that have messages."""
        return results([each._asdict() for each in self._mailbox.index.inboxes()])

    def flag_all(self, request: LocalRequest) -> LocalReply:
        """Flag all messages that match as read, or as unread."""
        unread = _unread(request)
        differing = Condition("NOT unread" if unread else "unread")
        self._mailbox.set_unread(self._matching([differing, *_conditions(request.query)]), unread)
        return results(self.counts())

    def delete_all(self, request: LocalRequest) -> LocalReply:
        """Delete all messages that match."""
        conditions = _conditions(request.query)
        if not conditions:
            return results({"deleted": self._mailbox.clear()})
        return results({"deleted": self._mailbox.delete_all(self._matching(conditions))})

    def show_source(self, request: LocalRequest) -> LocalReply:
        """Return one message as it was stored."""
        source, name = source_of(self._mailbox, request), f"{request.parameters['id']}.eml"
        return hostile_content.download(source, name, "message/rfc822")

    def flag(self, request: LocalRequest) -> LocalReply:
        """Flag a message as read, or as unread."""
        row, unread = row_of(self._mailbox, request), _unread(request)
        self._mailbox.set_unread([row.id], unread)
        return results({"id": row.id, "unread": unread})

    def delete(self, request: LocalRequest) -> LocalReply:
        """Delete a message."""
        if not self._mailbox.delete(request.parameters["id"]):
            raise NoSuchThing
        return results({"deleted": 1})

    def show_content(self, request: LocalRequest) -> LocalReply:
        """Show a message with its parts."""
        row, message = row_of(self._mailbox, request), message_of(self._mailbox, request)
        parts = [
            {
                "part": part.number,
                "role": part.role,
                "content_type": part.content_type,
                "charset": part.charset,
                "size": len(message.data(part)),
                "filename": part.filename,
                "content_id": part.content_id,
            }
            for part in message.parts
        ]
        return results(
            {
                **self.entries([row])[0],
                "envelope_from": message.sender,
                "login": row.login,
                "headers": [{"name": name, "value": value} for name, value in message.headers],
                "text": message.body(TEXT),
                "html": message.body(HTML),
                "amp": message.body(AMP),
                "parts": parts,
                "problem": message.problem,
            }
        )

    def show_html(self, request: LocalRequest) -> LocalReply:
        """Return the HTML part as a page for a frame."""
        return self._page(request, HTML)

    def show_amp(self, request: LocalRequest) -> LocalReply:
        """Return the AMP part as a page for a frame; its scripts do not run."""
        return self._page(request, AMP)

    def show_part(self, request: LocalRequest) -> LocalReply:
        """Return the decoded bytes of a part."""
        message = message_of(self._mailbox, request)
        return hostile_content.part(message, part_of(message, request))

    def counts(self) -> dict[str, int]:
        """Return the numbers of messages and of unread ones."""
        messages, unread = self._mailbox.index.counts()
        return {"messages": messages, "unread": unread}

    def entries(self, rows: list[Row]) -> list[dict[str, Any]]:
        """Return what a list shows of messages, with their details."""
        details = self._detailer.details([row.id for row in rows])
        return [{**entry_of(row), **_view(row, details.get(row.id))} for row in rows]

    def _matching(self, conditions: list[Condition]) -> list[str]:
        """Return the ids of all messages that match, however long their details take."""
        self._detailer.complete_for(conditions, None, math.inf)
        return self._mailbox.index.ids(conditions)

    def _page(self, request: LocalRequest, role: str) -> LocalReply:
        message = message_of(self._mailbox, request)
        html = message.body(role)
        if html is None:
            raise NoSuchThing
        remote_images = request.query.get("images") == "remote"
        return hostile_content.page(message, html, remote_images=remote_images)


def _conditions(query: Any) -> list[Condition]:
    conditions = simple_conditions(query.get("to"), query.get("from"), query.get("subject"))
    try:
        if subaccount := query.get("subaccount"):
            conditions.append(of_subaccount(subaccount))
        if "inbox" in query:
            conditions.append(of_inbox(query["inbox"]))
        return conditions + conditions_of(query.get("q", ""))
    except BadQuery as error:
        raise LocalError(400, str(error)) from None


def _position(query: Mapping[str, str]) -> int | None:
    """Return the uid before which the page begins, ``None`` for the first page."""
    cursor = query.get("cursor", FIRST)
    if cursor == FIRST:
        return None
    try:
        uid: int
        (uid,) = cursors.decode(cursor, PREFIX, _filters(query))
    except BadCursor as fault:
        raise LocalError(400, str(fault)) from None
    return uid


def _link(query: Mapping[str, str], last: int) -> str:
    """Return the link to the page that begins before a message."""
    cursor = cursors.encode([last], PREFIX, _filters(query))
    return f"{PREFIX}?{urlencode({**query, 'cursor': cursor})}"


def _filters(query: Mapping[str, str]) -> list[str]:
    return [query.get(name, "") for name in _FILTERS]


def _unread(request: LocalRequest) -> bool:
    unread = request.json().get("unread")
    if not isinstance(unread, bool):
        raise LocalError(400, "unread must be true or false")
    return unread


def _view(row: Row, details: Details | None) -> dict[str, Any]:
    if details is None:  # deleted meanwhile
        return {}
    return {
        "from_name": details.from_name,
        "snippet": details.snippet,
        "attachments": details.attachments,
        "message_id": details.message_id or None,
        "transmission_id": details.transmission_id or None,
        "subaccount_id": details.subaccount_id if details.message_id else None,
        "campaign_id": details.campaign_id or None,
        "tags": tags_of(row, details),
    }
