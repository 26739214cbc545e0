"""Show the local mailbox over HTTP, under ``/local/mailbox``.

- ``GET /local/mailbox?to=&from=&subject=&limit=`` lists the newest messages that match. ``to`` is
  the recipient's whole address, in which ``*`` stands for any characters. ``from`` and ``subject``
  are parts of those fields
- ``GET /local/mailbox/{id}`` returns one message as it was stored
- ``DELETE /local/mailbox`` deletes all messages and returns how many there were

No key is needed: the endpoint exists only in the local runtime.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any
from urllib.parse import parse_qs, unquote

from infrastructure.local.gateway.application import Send
from infrastructure.local.gateway.replies import error_body, reply, reply_json
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
                await reply_json(send, 404, error_body("Resource could not be found"))
            else:
                await reply(send, 200, message, "message/rfc822")
        elif not message_id and method in ("GET", "HEAD"):
            await self._list(parse_qs(scope["query_string"].decode("ascii", "replace")), send)
        elif not message_id and method == "DELETE":
            await reply_json(send, 200, {"results": {"deleted": self._mailbox.clear()}})
        else:
            await reply_json(send, 405, error_body("Method Not Allowed"))

    async def _list(self, query: MutableMapping[str, Any], send: Send) -> None:
        parameters = {name: values[-1] for name, values in query.items()}
        limit = parameters.get("limit", str(DEFAULT_LIMIT))
        if not limit.isascii() or not limit.isdigit():
            await reply_json(send, 400, error_body("limit must be a whole number"))
            return
        entries = self._mailbox.list(
            to=parameters.get("to"),
            sender=parameters.get("from"),
            subject=parameters.get("subject"),
            limit=min(int(limit), MOST_LISTED),
        )
        await reply_json(send, 200, {"results": entries})
