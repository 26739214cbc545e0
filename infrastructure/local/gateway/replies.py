"""Send the responses of the local endpoints."""

from __future__ import annotations

import json
from typing import Any

from infrastructure.local.gateway.application import Send


def error_body(message: str) -> dict[str, Any]:
    """Return the body of an error, in the form of the API's."""
    return {"errors": [{"message": message}]}


async def reply_json(send: Send, status: int, body: Any) -> None:
    """Send a JSON response."""
    await reply(send, status, json.dumps(body).encode(), "application/json")


async def reply(send: Send, status: int, body: bytes, kind: str) -> None:
    """Send a response of any media type."""
    headers = [(b"content-type", kind.encode()), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
