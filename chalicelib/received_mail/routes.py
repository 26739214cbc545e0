"""Serve ``/inbound-messages``, and the signed URLs of attachments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import urlencode

from chalicelib.core.errors import NotFound
from chalicelib.core.http import PUBLIC, Reply, Request, Routes, empty, ok, raw, redirect
from chalicelib.core.query import with_cursor
from chalicelib.core.reply import fitting
from chalicelib.received_mail import attachment_urls, service, store
from chalicelib.received_mail.model import ReceivedMessage
from chalicelib.received_mail.request import next_cursor, read_search
from chalicelib.received_mail.service import Content
from chalicelib.received_mail.view import message_view, summary_view

routes = Routes(__name__)

_PATH: Final = "/api/v1/inbound-messages"
_MESSAGE: Final = _PATH + "/{message_id}"
_GRANT: Final = "inbound_domains/manage"

#: What strangers sent is saved as a file. A browser that shows it all the same runs nothing of it
_AS_FILE: Final[Mapping[str, str]] = {
    "Content-Security-Policy": "sandbox; default-src 'none'; frame-ancestors 'none'",
    "Cache-Control": "private, no-store",
}


@routes.get(_PATH, grant=_GRANT)
def list_inbound_messages(request: Request) -> Reply:
    """Return one page of the received messages in scope, newest first."""
    scope = request.caller.scope
    search = read_search(request.query, scope)
    page, high = service.find_page(scope, search)
    views = fitting([summary_view(message) for message in page])
    if len(views) < len(page):
        _, high = service.cut_page(page, max(len(views), 1))
    cursor = next_cursor(search, high)
    pairs = urlencode(with_cursor(request.query, cursor))
    return ok(views, links={"next": f"{_PATH}?{pairs}"} if cursor else {})


@routes.get(_MESSAGE, grant=_GRANT)
def show_inbound_message(request: Request, message_id: str) -> Reply:
    """Show one with its content, its attachments and what became of it."""
    message = service.get(request.caller.scope, message_id)
    return ok(message_view(message, service.parsed(message)))


@routes.get(_MESSAGE + "/raw", grant=_GRANT)
def show_raw_message(request: Request, message_id: str) -> Reply:
    """Return the message as it came in, with our Received field."""
    message = service.get(request.caller.scope, message_id)
    content = service.raw_content(message)
    return _file(content, f"{message.id}.eml", "message/rfc822")


@routes.get(_MESSAGE + "/attachments/{number}", grant=_GRANT)
def show_attachment(request: Request, message_id: str, number: str) -> Reply:
    """Return the content of an attachment."""
    return _attachment(service.get(request.caller.scope, message_id), number)


@routes.delete(_MESSAGE, grant=_GRANT)
def delete_inbound_message(request: Request, message_id: str) -> Reply:
    """Delete one, with its attachments."""
    service.delete(service.get(request.caller.scope, message_id))
    return empty(204)


@routes.get(attachment_urls.PATH + "/{token}", grant=PUBLIC)
def fetch_attachment(request: Request, token: str) -> Reply:
    """Return the attachment that a signed URL names, until it expires."""
    message_id, number = attachment_urls.read(token)
    message = store.by_id(message_id)
    if message is None:
        raise NotFound
    return _attachment(message, str(number))


def _attachment(message: ReceivedMessage, number: str) -> Reply:
    if not (number.isascii() and number.isdigit() and len(number) <= 4):
        raise NotFound
    attachment, content = service.attachment_content(message, int(number))
    return _file(content, attachment.name, attachment.type)


def _file(content: Content, name: str, content_type: str) -> Reply:
    if content.url:
        return redirect(content.url, headers={"Cache-Control": "no-store"})
    headers = {**_AS_FILE, "Content-Disposition": service.file_disposition(name)}
    return raw(content.octets, content_type, headers=headers)
