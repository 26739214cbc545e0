"""Send the responses of the local endpoints."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from infrastructure.local.gateway.request_body import Send

#: What is shown is never kept or guessed at by others
SAFE_HEADERS = {"cache-control": "no-store", "x-content-type-options": "nosniff"}


def error_body(message: str) -> dict[str, Any]:
    """Return the body of an error, in the form of the API's."""
    return {"errors": [{"message": message}]}


async def reply_json(send: Send, status: int, body: Any) -> None:
    """Send a JSON response."""
    await reply(send, status, json.dumps(body).encode(), "application/json")


async def reply(
    send: Send,
    status: int,
    body: bytes,
    kind: str,
    headers: Mapping[str, str] | None = None,
    cookies: Sequence[str] = (),
) -> None:
    """Send a response of any media type; ``cookies`` are values of ``Set-Cookie``."""
    all_headers = {"content-type": kind, "content-length": str(len(body)), **(headers or {})}
    encoded = [(name.encode(), value.encode("latin-1")) for name, value in all_headers.items()]
    encoded += [(b"set-cookie", cookie.encode("latin-1")) for cookie in cookies]
    await send({"type": "http.response.start", "status": status, "headers": encoded})
    await send({"type": "http.response.body", "body": body})
