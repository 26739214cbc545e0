"""List the links, images and headers of a message that lead somewhere, and what they lead to.

The targets of the service's own URLs are read from their signed tokens, without a request.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from chalicelib.tracking import tokens
from chalicelib.tracking.model import (
    AMP_INITIAL_OPEN,
    AMP_OPEN,
    CLICK,
    INITIAL_OPEN,
    LIST_UNSUBSCRIBE,
    OPEN,
)
from infrastructure.local.messages.html import Html, text_links
from infrastructure.local.messages.parts import AMP, HTML, TEXT, StoredMessage

MOST_LINKS = 2000

_PIXELS = (OPEN, INITIAL_OPEN, AMP_OPEN, AMP_INITIAL_OPEN)
_KINDS = (*_PIXELS, CLICK, LIST_UNSUBSCRIBE)


@dataclass(frozen=True, slots=True)
class MessageLink:
    """One link. ``part`` is text, html, amp or header; ``text`` is what a reader sees of it.

    ``kind`` is one of open, click, unsubscribe (links of the service), image, link and mailto.
    ``target`` is what a tracked link leads to.
    """

    url: str
    part: str
    text: str
    kind: str
    tracked: bool = False
    target: str | None = None
    name: str = ""


def links_of(message: StoredMessage) -> list[MessageLink]:
    """Return the links of a message, at most ``MOST_LINKS``."""
    return [_link(*each) for each, _ in zip(_urls(message), range(MOST_LINKS), strict=False)]


def service_link(url: str) -> MessageLink:
    """Return what a URL is that a reader may follow; ``tracked`` tells whether it is ours."""
    return _link(url, HTML, "", "link")


def is_pixel(url: str) -> bool:
    """Tell whether a URL is an open pixel of the service."""
    return _link(url, HTML, "", "image").kind == "open"


def _urls(message: StoredMessage) -> Iterator[tuple[str, str, str, str]]:
    for part in (HTML, AMP):
        html = Html(message.body(part) or "")
        yield from ((link.url, part, link.text, "link") for link in html.links)
        yield from ((image.url, part, image.alt or "", "image") for image in html.images)
    yield from ((url, TEXT, url, "link") for url in text_links(message.body(TEXT) or ""))
    header = "List-Unsubscribe"
    for piece in message.header(header).split(","):
        url = piece.strip().removeprefix("<").removesuffix(">")
        if url:
            yield url, "header", header, "link"


def _link(url: str, part: str, text: str, kind: str) -> MessageLink:
    if url.lower().startswith("mailto:"):
        return MessageLink(url, part, text, "mailto")
    endpoint, token = _endpoint(url)
    if not endpoint:
        return MessageLink(url, part, text, kind)
    if endpoint in _PIXELS:
        return MessageLink(url, part, text, "open", tracked=True)
    if endpoint == LIST_UNSUBSCRIBE:
        return MessageLink(url, part, text, "unsubscribe", tracked=True)
    try:
        link = tokens.read(endpoint, token)[1]
    except tokens.Expired:
        link = None
    if link is None:
        return MessageLink(url, part, text, "click", tracked=True)
    kind = "unsubscribe" if link.unsubscribes else "click"
    return MessageLink(url, part, text, kind, True, link.target, link.name)


def _endpoint(url: str) -> tuple[str, str]:
    """Return the kind of one of the service's URLs with its token; two empty texts for others."""
    try:
        pieces = urlsplit(url).path.split("/")
    except ValueError:
        return "", ""
    if len(pieces) < 4:
        return "", ""
    kind, token = f"{pieces[-3]}/{unquote(pieces[-2])}", pieces[-1]
    is_ours = (kind in _KINDS or pieces[-3] == "f") and tokens.is_genuine(kind, token)
    return (kind, token) if is_ours else ("", "")
