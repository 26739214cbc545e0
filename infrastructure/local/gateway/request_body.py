"""Read a request body from an ASGI connection without ever holding more than the limit."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, NamedTuple

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

_DRAIN_LIMIT = 1024**3


class RequestBody(NamedTuple):
    """The result of reading a body. ``unread`` says that the client may still be sending."""

    content: bytes
    too_large: bool = False
    unread: bool = False


async def read_body(scope: Scope, receive: Receive, limit: int) -> RequestBody | None:
    """Read the body, keeping at most ``limit`` bytes; ``None`` when the client has gone."""
    if _waits_to_send_more_than(limit, scope):
        return RequestBody(b"", too_large=True, unread=True)
    chunks: list[bytes] = []
    size = 0
    while size <= _DRAIN_LIMIT:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        chunks.append(message.get("body", b""))
        size += len(chunks[-1])
        if size > limit:
            chunks.clear()
        if not message.get("more_body"):
            return RequestBody(b"".join(chunks), too_large=size > limit)
    return RequestBody(b"", too_large=True, unread=True)


def _waits_to_send_more_than(limit: int, scope: Scope) -> bool:
    """Tell whether the client asked first (``Expect: 100-continue``) and declared too much."""
    headers = dict(scope["headers"])
    waits = headers.get(b"expect", b"").lower() == b"100-continue"
    return waits and int(headers.get(b"content-length", b"0")) > limit
