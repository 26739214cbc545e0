"""Call the port of Mailpit's API with ASGI messages, over a mailbox in a folder."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping
from email.message import EmailMessage
from pathlib import Path
from typing import Any

from infrastructure.local.mailbox.mailbox import SinkMailbox
from infrastructure.local.mailbox.trace import Trace
from infrastructure.local.mailpit.assembly import mailpit_service
from infrastructure.local.mailpit.run_figures import RunFigures
from infrastructure.local.messages.details import Detailer
from infrastructure.local.this_machine import NOBODY_ELSE, LocalAccess
from tests.http_response import Response

Headers = Iterable[tuple[bytes, bytes]]


async def own_service(scope: Any, receive: Any, send: Any) -> None:
    """Stand for the service itself; answer with the path."""
    await send({"type": "http.response.start", "status": 299, "headers": []})
    await send({"type": "http.response.body", "body": scope["raw_path"]})


class MailpitClient:
    """A port without a network."""

    def __init__(
        self,
        root: Path,
        environ: Mapping[str, str] | None = None,
        access: LocalAccess = NOBODY_ELSE,
    ) -> None:
        self.root = root
        self.mailbox = SinkMailbox(root / "mail")
        self.service = mailpit_service(
            root,
            environ or {},
            self.mailbox,
            Detailer(self.mailbox, lambda references: {}),
            own_service,
            access=access,
            figures=RunFigures.begin(self.mailbox, environ or {}),
            has_console=True,
        )

    def add(
        self,
        subject: str = "Hello",
        to: str = "ann@inbox.test",
        text: str = "It works.",
        trace: Trace | None = None,
        **fields: str,
    ) -> str:
        """Store a message and return its id."""
        message = EmailMessage()
        message["From"], message["To"], message["Subject"] = "Bob <bob@shop.test>", to, subject
        for name, value in fields.items():
            message[name.replace("_", "-")] = value
        message.set_content(text)
        content = message.as_bytes().replace(b"\n", b"\r\n")
        return self.mailbox.store(trace or Trace("bounce@shop.test", (to,)), content)

    def ask(
        self,
        method: str,
        target: str,
        body: Any = None,
        headers: Headers = (),
        *,
        host: bytes = b"localhost:8025",
        peer: str = "127.0.0.1",
    ) -> Response:
        """Make one request; a body of bytes is sent as it is, anything else as JSON."""
        return asyncio.run(self._ask(method, target, body, headers, host, peer))

    async def _ask(
        self, method: str, target: str, body: Any, headers: Headers, host: bytes, peer: str
    ) -> Response:
        content = body if isinstance(body, bytes) else b"" if body is None else dumped(body)
        messages: list[Any] = []

        async def receive() -> Any:
            return {"type": "http.request", "body": content, "more_body": False}

        async def send(message: Any) -> None:
            messages.append(message)

        path, _, query = target.partition("?")
        scope = {
            "type": "http",
            "method": method,
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "headers": [(b"host", host), *headers],
            "client": (peer, 1),
            "server": ("127.0.0.1", 8025),
        }
        await self.service.port(scope, receive, send)
        start, end = messages
        names: dict[str, str] = {}
        for name, value in start["headers"]:
            text = value.decode("latin-1")
            names[name.decode()] = (
                f"{names[name.decode()]}\n{text}" if name.decode() in names else text
            )
        return Response(start["status"], names, end["body"])

    def get(self, target: str) -> Any:
        """Return the JSON of an answer."""
        response = self.ask("GET", target)
        assert response.status == 200, response.body
        assert response.headers["content-type"] == "application/json"
        return response.json


def dumped(body: Any) -> bytes:
    return json.dumps(body).encode()
