"""Serve the parts of messages, which anybody may have written, so that a browser runs none of them.

An HTML part is a page of its own with a sandbox: no scripts, no forms, no plugins, an origin that
is nobody's. Links open in a new window. Nothing is loaded from elsewhere, except images when the
reader wants them. Other parts are downloads, except images in formats without scripts.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from urllib.parse import quote, unquote

from infrastructure.local.gateway.local_api import LocalReply
from infrastructure.local.messages.parts import MessagePart, StoredMessage

#: Formats that hold no scripts (SVG does)
IMAGES = frozenset(
    ["image/png", "image/jpeg", "image/gif", "image/webp", "image/avif", "image/bmp"]
)
_PAGE_POLICY = (
    "sandbox allow-popups allow-popups-to-escape-sandbox; default-src 'none'; "
    "style-src 'unsafe-inline'; img-src data:{images}; font-src data:; form-action 'none'; "
    "base-uri 'none'; frame-ancestors 'self'"
)
# Programs open it as a page of its own, and follow its links there
_ALONE_POLICY = (
    "sandbox allow-popups allow-popups-to-escape-sandbox; default-src 'none'; "
    "style-src 'unsafe-inline' http: https:; img-src data: http: https:; "
    "font-src data: http: https:; media-src http: https:; form-action 'none'; base-uri 'none'; "
    "frame-ancestors 'self'"
)
_PART_POLICY = "sandbox; default-src 'none'; frame-ancestors 'none'"
_REFERENCE = re.compile(r"cid:([^\s\"'<>)]{1,1000})", re.IGNORECASE)
_MOST_INLINE_BYTES = 20_000_000


def page(message: StoredMessage, html: str, *, remote_images: bool) -> LocalReply:
    """Return an HTML part as a page for a frame, with the images that it holds."""
    policy = _PAGE_POLICY.format(images=" http: https:" if remote_images else "")
    content = '<base target="_blank">' + _with_images(message, html)
    return LocalReply(
        content.encode("utf-8", "replace"),
        "text/html; charset=utf-8",
        headers=_headers(policy) | {"cross-origin-resource-policy": "same-origin"},
    )


def page_alone(message: StoredMessage, html: str) -> LocalReply:
    """Return an HTML part as a page by itself, with its own images and with those of others."""
    content = _with_images(message, html).encode("utf-8", "replace")
    return LocalReply(content, "text/html; charset=utf-8", headers=_headers(_ALONE_POLICY))


def part_headers() -> dict[str, str]:
    """Return the headers under which a browser runs nothing of a part, whatever its type is."""
    return _headers(_PART_POLICY)


def download(
    data: bytes, filename: str, content_type: str = "application/octet-stream"
) -> LocalReply:
    """Return bytes that a browser stores and does not show."""
    return _file("attachment", data, filename, content_type)


def part(message: StoredMessage, part: MessagePart) -> LocalReply:
    """Return a part: an image to be shown, anything else as a download."""
    filename = part.filename or f"part-{part.number}"
    if part.content_type in IMAGES:
        return _file("inline", message.data(part), filename, part.content_type)
    return download(message.data(part), filename)


def _file(disposition: str, data: bytes, filename: str, content_type: str) -> LocalReply:
    # RFC 6266 4.3: the name in UTF-8, in which no character can end the parameter
    name = quote(filename.replace("/", "_").replace("\\", "_")[:200], safe="")
    headers = _headers(_PART_POLICY)
    headers["content-disposition"] = f"{disposition}; filename*=UTF-8''{name}"
    return LocalReply(data, content_type, headers=headers)


def _headers(policy: str) -> dict[str, str]:
    return {"content-security-policy": policy, "referrer-policy": "no-referrer"}


def _with_images(message: StoredMessage, html: str) -> str:
    """Put the images that the HTML refers to by their Content-ID (RFC 2392) into it."""
    images: Mapping[str, MessagePart] = {
        part.content_id: part
        for part in message.parts
        if part.content_id and part.content_type in IMAGES
    }
    room = _MOST_INLINE_BYTES

    def url(match: re.Match[str]) -> str:
        nonlocal room
        image = images.get(unquote(match[1]))
        if image is None or image.end - image.start > room:
            return match[0]
        room -= image.end - image.start
        return f"data:{image.content_type};base64,{base64.b64encode(message.data(image)).decode()}"

    return _REFERENCE.sub(url, html) if images else html
