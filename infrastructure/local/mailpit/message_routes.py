"""Answer Mailpit's requests about one message: its content, its parts and its source."""

from __future__ import annotations

from urllib.parse import quote

from infrastructure.local.gateway import hostile_content
from infrastructure.local.mailpit.changes import Changes
from infrastructure.local.mailpit.embedding import embedded
from infrastructure.local.mailpit.messages import MessageEntry, Messages
from infrastructure.local.mailpit.mime_parts import MimeParts
from infrastructure.local.mailpit.router import (
    API,
    TEXT_PLAIN,
    MailpitReply,
    MailpitRequest,
    MailpitRoute,
    NotFound,
    json_reply,
)
from infrastructure.local.mailpit.view import headers_of, message_of, raw_of

_MESSAGE = f"{API}/message/{{id}}"
# What Go leaves as it is in a segment of a path
_UNQUOTED = "$&+=:@"


class MessageRoutes:
    """The operations on one message."""

    def __init__(self, messages: Messages, changes: Changes) -> None:
        self._messages = messages
        self._changes = changes

    def routes(self) -> list[MailpitRoute]:
        """Return the routes."""
        return [
            MailpitRoute("GET", _MESSAGE, self.show),
            MailpitRoute("GET", f"{_MESSAGE}/headers", self.show_headers),
            MailpitRoute("GET", f"{_MESSAGE}/raw", self.show_raw),
            MailpitRoute("GET", f"{_MESSAGE}/part/{{part}}", self.show_part),
            MailpitRoute("GET", "/view/{id}.html", self.show_html),
            MailpitRoute("GET", "/view/{id}.txt", self.show_text),
        ]

    def show(self, request: MailpitRequest) -> MailpitReply:
        """Show a message, which is read thereby."""
        entry = self._messages.of_path(request)
        view = message_of(*entry)
        self._changes.note_read(entry.row.id)
        return json_reply(view)

    def show_headers(self, request: MailpitRequest) -> MailpitReply:
        """Show the fields of the header."""
        entry = self._messages.of_path(request)
        return json_reply(headers_of(entry.message, entry.details))

    def show_raw(self, request: MailpitRequest) -> MailpitReply:
        """Return the source of a message."""
        entry = self._messages.of_path(request)
        headers = (
            {"content-disposition": f'attachment; filename="{entry.row.id}.eml"'}
            if request.query.get("dl") == "1"
            else {}
        )
        return MailpitReply(raw_of(entry.message, entry.details), TEXT_PLAIN, headers=headers)

    def show_part(self, request: MailpitRequest) -> MailpitReply:
        """Return the content of an attachment or inline part."""
        parts = MimeParts(self._messages.of_path(request).message)
        part = parts.part(request.parameters["part"])
        if part is None:
            raise NotFound
        name = part.part.filename or part.part.content_id
        headers = {
            **hostile_content.part_headers(),
            "content-disposition": f'inline; filename="{quote(name, safe=_UNQUOTED)}"',
        }
        return MailpitReply(parts.data(part), part.content_type, headers=headers)

    def show_html(self, request: MailpitRequest) -> MailpitReply:
        """Return the HTML of a message as a page; the message is read thereby."""
        entry = self._entry(request)
        html = MimeParts(entry.message).html
        self._changes.note_read(entry.row.id)
        if not html:
            raise NotFound("This message does not contain a HTML part")
        if request.query.get("embed") == "1":
            html = embedded(html)
        page = hostile_content.page_alone(entry.message, html)
        return MailpitReply(page.body, page.content_type, headers=page.headers)

    def show_text(self, request: MailpitRequest) -> MailpitReply:
        """Return the text of a message; the message is read thereby."""
        entry = self._entry(request)
        self._changes.note_read(entry.row.id)
        return MailpitReply(MimeParts(entry.message).text.encode("utf-8", "replace"), TEXT_PLAIN)

    def _entry(self, request: MailpitRequest) -> MessageEntry:
        try:
            return self._messages.of_path(request)
        except NotFound:
            raise NotFound("Message not found") from None
