"""The types of an ASGI application, and how it reads a request and answers it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
AsgiApplication = Callable[[Scope, Receive, Send], Awaitable[None]]


def header(scope: Scope, name: bytes) -> str:
    """Return a header of the request, or nothing."""
    return next((value.decode("latin-1") for key, value in scope["headers"] if key == name), "")


#: Where a scope has the body of a request that was read
BODY = "body"


async def read_body(scope: Scope, receive: Receive) -> bytes | None:
    """Return the whole body of a request, or ``None`` if the client hung up."""
    if BODY in scope:
        body: bytes = scope[BODY]
        return body
    chunks: list[bytes] = []
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        chunks.append(message.get("body", b""))
        if not message.get("more_body"):
            scope[BODY] = body = chunks[0] if len(chunks) == 1 else b"".join(chunks)
            return body


def replaying(scope: Scope, receive: Receive) -> Receive:
    """Return a ``receive`` that begins with the body, if that was read."""
    if BODY not in scope:
        return receive
    messages = [{"type": "http.request", "body": scope[BODY], "more_body": False}]

    async def again() -> Any:
        return messages.pop() if messages else await receive()

    return again


async def answer(send: Send, status: int, body: bytes, headers: Mapping[str, str]) -> None:
    """Send a whole response; its length is added to the headers."""
    pairs = [(name.lower().encode(), value.encode("latin-1")) for name, value in headers.items()]
    pairs.append((b"content-length", str(len(body)).encode()))
    await send({"type": "http.response.start", "status": status, "headers": pairs})
    await send({"type": "http.response.body", "body": body})
