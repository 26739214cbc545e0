"""Show the local mailbox over HTTP, under ``/local/mailbox``.

- ``GET /local/mailbox?to=&from=&subject=&limit=`` lists the newest messages that match. ``to`` is
  the recipient's whole address, in which ``*`` stands for any characters. ``from`` and ``subject``
  are parts of those fields
- ``GET /local/mailbox/{id}`` returns one message as it was stored
- ``DELETE /local/mailbox`` deletes all messages and returns how many there were

No key is needed: the endpoint exists only in the local runtime.
"""

from __future__ import annotations

import json
from collections.abc import MutableMapping
from typing import Any
from urllib.parse import parse_qs, unquote

from infrastructure.local.gateway.application import Send
from infrastructure.local.gateway.request_body import Receive, Scope
from infrastructure.local.sink.mailbox import Mailbox

PREFIX = "/local/mailbox"
DEFAULT_LIMIT = 100
MOST_LISTED = 10_000


class MailboxEndpoint:
    """``/local/mailbox`` as an ASGI callable over the sink's mailbox."""

    def __init__(self, mailbox: Mailbox) -> None:
        self._mailbox = mailbox

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        path = unquote(scope["raw_path"].decode("ascii")).rstrip("/")
        message_id = path.removeprefix(PREFIX).lstrip("/")
        method = scope["method"]
        if message_id and method in ("GET", "HEAD"):
            message = self._mailbox.read(message_id)
            if message is None:
                await _reply_json(send, 404, _error("Resource could not be found"))
            else:
                await _reply(send, 200, message, "message/rfc822")
        elif not message_id and method in ("GET", "HEAD"):
            await self._list(parse_qs(scope["query_string"].decode("ascii", "replace")), send)
        elif not message_id and method == "DELETE":
            await _reply_json(send, 200, {"results": {"deleted": self._mailbox.clear()}})
        else:
            await _reply_json(send, 405, _error("Method Not Allowed"))

    async def _list(self, query: MutableMapping[str, Any], send: Send) -> None:
        parameters = {name: values[-1] for name, values in query.items()}
        limit = parameters.get("limit", str(DEFAULT_LIMIT))
        if not limit.isascii() or not limit.isdigit():
            await _reply_json(send, 400, _error("limit must be a whole number"))
            return
        entries = self._mailbox.list(
            to=parameters.get("to"),
            sender=parameters.get("from"),
            subject=parameters.get("subject"),
            limit=min(int(limit), MOST_LISTED),
        )
        await _reply_json(send, 200, {"results": entries})


def _error(message: str) -> dict[str, Any]:
    return {"errors": [{"message": message}]}


async def _reply_json(send: Send, status: int, body: Any) -> None:
    await _reply(send, status, json.dumps(body).encode(), "application/json")


async def _reply(send: Send, status: int, body: bytes, kind: str) -> None:
    headers = [(b"content-type", kind.encode()), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
