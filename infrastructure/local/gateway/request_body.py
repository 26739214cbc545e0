"""Read a request body from an ASGI connection without ever holding more than the limit."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, NamedTuple

# Python makes objects of ten times the size of such a body. Those of several calls at once mix
# in memory, where one small object that lives on keeps a megabyte. And Python computes for one call
# at a time anyhow
LARGE_BODY = 256 * 1024

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

_DRAIN_LIMIT = 1024**3


class RequestBody(NamedTuple):
    """The result of reading a body. ``unread`` says that the client may still be sending."""

    content: bytes
    too_large: bool = False
    unread: bool = False


async def read_body(
    scope: Scope,
    receive: Receive,
    limit: int,
    admits: Callable[[], Awaitable[bool]] | None = None,
) -> RequestBody | None:
    """Read the body, keeping at most ``limit`` bytes; ``None`` when the client has gone.

    Before more than :data:`LARGE_BODY` of it is kept, ``admits`` is asked whether the caller may
    send so much: strangers cannot fill the memory.
    """
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
        if admits and size > LARGE_BODY:
            limit = limit if await admits() else 0
            admits = None
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
