"""Answer Mailpit's requests about many messages: lists, searches, flags, deletion and tags."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from infrastructure.local.mailbox import query_terms
from infrastructure.local.mailbox.rows import Condition
from infrastructure.local.mailpit.changes import Changes, TagProblem
from infrastructure.local.mailpit.messages import Messages
from infrastructure.local.mailpit.router import (
    API,
    MailpitError,
    MailpitReply,
    MailpitRequest,
    MailpitRoute,
    json_reply,
    ok,
)

DEFAULT_LIMIT = 50
#: No answer has more messages
MOST_LISTED = 10_000
_MOST_OF_SHORT_LIST = 200

_NUMBER = re.compile(r"[+]?[0-9]{1,15}", re.ASCII)
_NO_QUERY = "Error: no search query"


class ListRoutes:
    """The operations on many messages."""

    def __init__(self, messages: Messages, changes: Changes) -> None:
        self._messages = messages
        self._changes = changes

    def routes(self) -> list[MailpitRoute]:
        """Return the routes."""
        messages, search, tags = f"{API}/messages", f"{API}/search", f"{API}/tags"
        return [
            MailpitRoute("GET", messages, self.list_messages, is_slow=_lists_many),
            MailpitRoute("PUT", messages, self.set_read, is_slow=_always),
            MailpitRoute("DELETE", messages, self.delete, is_slow=_always),
            MailpitRoute("GET", search, self.search, is_slow=_always),
            MailpitRoute("DELETE", search, self.delete_matching, is_slow=_always),
            MailpitRoute("GET", tags, self.list_tags),
            MailpitRoute("PUT", tags, self.set_tags, is_slow=_always),
            MailpitRoute("PUT", f"{tags}/{{tag}}", self.rename_tag, is_slow=_always),
            MailpitRoute("DELETE", f"{tags}/{{tag}}", self.delete_tag, is_slow=_always),
        ]

    def list_messages(self, request: MailpitRequest) -> MailpitReply:
        """List the newest messages; a limit of 0 is none."""
        start, limit = _start(request.query), _limit(request.query)
        rows = self._messages.search(
            _before(request.query), limit or MOST_LISTED, start if limit else 0
        )
        messages, unread = self._messages.mailbox.index.counts()
        counts = {"messages_count": messages, "messages_unread": unread}
        return json_reply(self._page(self._messages.summaries(rows), start) | counts)

    def search(self, request: MailpitRequest) -> MailpitReply:
        """List the newest messages that match; of a limit of 0 it gives their number only."""
        start, limit = _start(request.query), _limit(request.query)
        conditions = self._conditions(request) + _before(request.query)
        rows = self._messages.search(conditions, limit, start)
        messages, unread = self._messages.mailbox.index.count(conditions)
        counts = {"messages_count": messages, "messages_unread": unread}
        return json_reply(self._page(self._messages.summaries(rows), start) | counts)

    def set_read(self, request: MailpitRequest) -> MailpitReply:
        """Flag messages as read or as unread: some, those that match, or all."""
        body = request.json()
        ids, query = _texts(body, "ids"), _value(body, "search", str, "")
        is_read = _value(body, "read", bool, False)
        if ids and query:
            raise MailpitError(400, "You may specify either IDs or a search query, not both")
        if query:
            conditions = self._messages.conditions(query, request.query)
            self._changes.set_read(self._messages.ids(conditions), is_read)
        elif ids:
            self._changes.set_read(ids, is_read)
        else:
            self._changes.set_all_read(is_read)
        return ok()

    def delete(self, request: MailpitRequest) -> MailpitReply:
        """Delete messages, all of them if none are named."""
        try:
            ids = _texts(request.json(), "ids")
        except MailpitError:
            # A body is not asked for
            ids = []
        if ids:
            self._changes.delete(ids)
        else:
            self._changes.delete_all()
        return ok()

    def delete_matching(self, request: MailpitRequest) -> MailpitReply:
        """Delete the messages that match."""
        self._changes.delete(self._messages.ids(self._conditions(request)))
        return ok()

    def list_tags(self, request: MailpitRequest) -> MailpitReply:
        """List the tags that messages have."""
        return json_reply(self._tags())

    def set_tags(self, request: MailpitRequest) -> MailpitReply:
        """Let messages have some tags and no others."""
        body = request.json()
        self._changes.set_tags(_texts(body, "ids"), _texts(body, "tags"))
        return ok()

    def rename_tag(self, request: MailpitRequest) -> MailpitReply:
        """Give a tag another name."""
        name = _value(request.json(), "name", str, "")
        try:
            self._changes.rename_tag(request.parameters["tag"], name)
        except TagProblem as problem:
            raise MailpitError(400, str(problem)) from None
        return ok()

    def delete_tag(self, request: MailpitRequest) -> MailpitReply:
        """Take a tag from all messages."""
        try:
            self._changes.delete_tag(request.parameters["tag"])
        except TagProblem as problem:
            raise MailpitError(400, str(problem)) from None
        return ok()

    def _conditions(self, request: MailpitRequest) -> list[Condition]:
        query = request.query.get("query", "").strip()
        if not query:
            raise MailpitError(400, _NO_QUERY)
        return self._messages.conditions(query, request.query)

    def _page(self, summaries: list[dict[str, Any]], start: int) -> dict[str, Any]:
        messages, unread = self._messages.mailbox.index.counts()
        return {
            "total": messages,
            "unread": unread,
            "count": len(summaries),
            "start": start,
            "tags": self._tags(),
            "messages": summaries,
        }

    def _tags(self) -> list[str]:
        return self._messages.mailbox.index.tag_names()


def _always(request: MailpitRequest) -> bool:
    return True


def _lists_many(request: MailpitRequest) -> bool:
    return not 0 < _limit(request.query) <= _MOST_OF_SHORT_LIST


def _start(query: Mapping[str, str]) -> int:
    text = query.get("start", "")
    return int(text) if _NUMBER.fullmatch(text) else 0


def _limit(query: Mapping[str, str]) -> int:
    """Return the limit; one that is no number, or is below 0, is the default."""
    text = query.get("limit", "")
    return min(int(text), MOST_LISTED) if _NUMBER.fullmatch(text) else DEFAULT_LIMIT


def _before(query: Mapping[str, str]) -> list[Condition]:
    """Return the condition of ``before``; one that is no time is left out."""
    moment = query_terms.moment_of(query.get("before", ""))
    return [Condition("id < ?", (query_terms.bound(moment),))] if moment else []


def _value(body: Mapping[str, Any], name: str, kind: type, default: Any) -> Any:
    value = body.get(name)
    if value is None:
        return default
    if not isinstance(value, kind):
        raise MailpitError(400, f"{name} has another type than expected")
    return value


def _texts(body: Mapping[str, Any], name: str) -> list[str]:
    texts: list[str] = _value(body, name, list, [])
    if not all(isinstance(text, str) for text in texts):
        raise MailpitError(400, f"{name} must be an array of texts")
    return texts
