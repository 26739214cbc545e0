"""Answer the links and pixels of messages: ``/t/...`` and ``/f/...``, without a key.

Each route answers from its token alone, after it has queued one event. HEAD gets the same answer as
GET and reports nothing. A GET never unsubscribes, because machines follow every link of a message.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Final

from chalicelib.core.errors import MethodNotAllowed, NotFound, Unavailable
from chalicelib.core.http import PUBLIC, Reply, Request, Routes, raw
from chalicelib.core.message_event import Event
from chalicelib.core.routes import View
from chalicelib.core.settings import settings
from chalicelib.events import stream
from chalicelib.tracking import flood, links, pages, pixels, tokens
from chalicelib.tracking.engagement import observe
from chalicelib.tracking.locations import location
from chalicelib.tracking.model import (
    AMP_INITIAL_OPEN,
    AMP_OPEN,
    CLICK,
    INITIAL_OPEN,
    LIST_UNSUBSCRIBE,
    OPEN,
    Link,
    Message,
)
from chalicelib.tracking.tokens import BadToken
from chalicelib.tracking_domains import link_hosts

routes = Routes(__name__)

_log = logging.getLogger(__name__)

_NOT_KEPT: Final = {
    "Cache-Control": "no-store, no-cache, must-revalidate, private, max-age=0",
    "Pragma": "no-cache",
    "Expires": "0",
}


def _get(path: str) -> Callable[[View], View]:
    # HEAD must be declared too, or API Gateway would refuse it
    return routes.route(path, methods=["GET", "HEAD"], grant=PUBLIC)


@_get(f"/{OPEN}/{{token}}")
def show_open_pixel(request: Request, token: str) -> Reply:
    """Report an open and return the pixel."""
    return _pixel("open", request, OPEN, token)


@_get(f"/{INITIAL_OPEN}/{{token}}")
def show_initial_open_pixel(request: Request, token: str) -> Reply:
    """Report an initial open and return the pixel."""
    return _pixel("initial_open", request, INITIAL_OPEN, token)


@_get(f"/{AMP_OPEN}/{{token}}")
def show_amp_open_pixel(request: Request, token: str) -> Reply:
    """Report an open of an AMP part and return the pixel."""
    return _pixel("amp_open", request, AMP_OPEN, token)


@_get(f"/{AMP_INITIAL_OPEN}/{{token}}")
def show_amp_initial_open_pixel(request: Request, token: str) -> Reply:
    """Report an initial open of an AMP part and return the pixel."""
    return _pixel("amp_initial_open", request, AMP_INITIAL_OPEN, token)


@_get(f"/{CLICK}/{{token}}")
def follow_link(request: Request, token: str) -> Reply:
    """Report a click and redirect to the target."""
    return _follow(request, CLICK, token)


@_get("/f/{sub}/{token}")
def follow_sublink(request: Request, sub: str, token: str) -> Reply:
    """Report a click on a link with a path segment of the sender and redirect to the target."""
    return _follow(request, f"f/{sub}", token)


@routes.post(f"/{CLICK}/{{token}}", grant=PUBLIC)
def unsubscribe_by_link(request: Request, token: str) -> Reply:
    """Unsubscribe with the button of an unsubscribe link's page, then redirect to the target."""
    return _unsubscribe_by_link(request, CLICK, token)


@routes.post("/f/{sub}/{token}", grant=PUBLIC)
def unsubscribe_by_sublink(request: Request, sub: str, token: str) -> Reply:
    """Unsubscribe with the button of a link with a path segment of the sender, then redirect."""
    return _unsubscribe_by_link(request, f"f/{sub}", token)


@_get(f"/{LIST_UNSUBSCRIBE}/{{token}}")
def ask_to_unsubscribe(request: Request, token: str) -> Reply:
    """Show the page with the button that unsubscribes."""
    try:
        message, _ = _read(request, LIST_UNSUBSCRIBE, token)
    except BadToken:
        return pages.dead_link()
    return pages.confirm(message.recipient)


@routes.post(f"/{LIST_UNSUBSCRIBE}/{{token}}", grant=PUBLIC)
def unsubscribe_from_list(request: Request, token: str) -> Reply:
    """Unsubscribe with one click in a mail client (RFC 8058) or with the button of the page."""
    try:
        message, _ = _read(request, LIST_UNSUBSCRIBE, token)
    except BadToken:
        return pages.dead_link()
    _store(observe("list_unsubscribe", request, message))
    return pages.unsubscribed(message.recipient)


def _pixel(event_type: str, request: Request, kind: str, token: str) -> Reply:
    try:
        message, _ = _read(request, kind, token)
    except BadToken:
        raise NotFound from None
    if not _is_too_many(request, token):
        _report(event_type, request, message)
    # Ranges are not supported: the image is smaller than the headers
    return raw(pixels.GIF, "image/gif", headers={**_NOT_KEPT, "Accept-Ranges": "none"})


def _follow(request: Request, kind: str, token: str) -> Reply:
    try:
        message, link = _read_link(request, kind, token)
    except BadToken:
        return pages.dead_link()
    if link.unsubscribes:
        return pages.confirm(message.recipient, then_redirects=True)
    if _is_too_many(request, token):
        return pages.too_many_visits()
    _report("amp_click" if link.amp else "click", request, message, link)
    return _redirect(302, link)


def _unsubscribe_by_link(request: Request, kind: str, token: str) -> Reply:
    try:
        message, link = _read_link(request, kind, token)
    except BadToken:
        return pages.dead_link()
    if not link.unsubscribes:
        raise MethodNotAllowed(["GET", "HEAD"])
    _store(observe("link_unsubscribe", request, message, link))
    return _redirect(303, link)


def _read(request: Request, kind: str, token: str) -> tuple[Message, Link | None]:
    """Read a token; raises ``BadToken``.

    Also for a URL that is longer than any of ours, and at a host that is not for this sender.
    """
    if len(request.path) > links.LONGEST_URL:
        raise BadToken("the URL is too long")
    message, link = tokens.read(kind, tokens.without_text(token))
    if not link_hosts.are_good_for(request.headers, message.account_id, message.subaccount_id):
        raise BadToken("the host is another account's, or nobody's")
    return message, link


def _read_link(request: Request, kind: str, token: str) -> tuple[Message, Link]:
    message, link = _read(request, kind, token)
    if link is None:
        raise BadToken("the token has no link")
    return message, link


def _is_too_many(request: Request, token: str) -> bool:
    return request.method != "HEAD" and flood.is_too_many(tokens.without_text(token))


def _redirect(status: int, link: Link) -> Reply:
    return Reply(status, b"", {"Location": location(link.target), **_NOT_KEPT})


def _report(event_type: str, request: Request, message: Message, link: Link | None = None) -> None:
    """Queue the event of a GET; the reader gets the answer even if that fails."""
    if request.method == "HEAD":
        return
    event = observe(event_type, request, message, link)
    try:
        _senders().submit(stream.emit, [event]).result(settings().tracking_patience)
    except Exception:
        _log.exception("an event was not queued in time: %s of %s", event_type, message.message_id)


def _store(event: Event) -> None:
    """Queue an event; raises 503 on failure, so that the client tries again."""
    try:
        stream.emit([event])
    except Exception:
        _log.exception("an event was not queued: %s", event["event_id"])
        raise Unavailable from None


@cache
def _senders() -> ThreadPoolExecutor:
    """Return the threads that wait for the queue in place of the reader."""
    return ThreadPoolExecutor(16, thread_name_prefix="engagement")
