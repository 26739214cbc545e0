"""Speak Mailpit's API and SMTP port as programs do that know Mailpit, without a library."""

from __future__ import annotations

import json
import smtplib
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from email.message import EmailMessage
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, Envelope, Session

from tests.free_ports import free_port
from tests.http_response import Response


@dataclass(frozen=True, slots=True)
class Mailpit:
    """The service at the two ports that Mailpit has, with its mailbox in between."""

    smtp_port: int
    http_port: int

    @property
    def url(self) -> str:
        """The address that clients are given."""
        return f"http://localhost:{self.http_port}"

    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
    ) -> Response:
        """Make a request; ``body`` is sent as JSON unless it is bytes."""
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, dict(headers or {}), method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                return Response(response.status, dict(response.headers), response.read())
        except urllib.error.HTTPError as error:
            return Response(error.code, dict(error.headers), error.read())

    def messages(self, path: str = "/api/v1/messages") -> list[dict[str, Any]]:
        """Return the rows of a list."""
        response = self.request("GET", path)
        assert response.status == 200, response.body
        rows: list[dict[str, Any]] = response.json["messages"]
        return rows

    def send(self, subject: str, *to: str, sender: str = "app@shop.test", **content: str) -> None:
        """Send a message with ``text`` and ``html``."""
        message = EmailMessage()
        message["From"], message["To"], message["Subject"] = sender, ", ".join(to), subject
        message.set_content(content.get("text", "Hello"))
        if "html" in content:
            message.add_alternative(content["html"], subtype="html")
        self.deliver(message)

    def deliver(self, message: EmailMessage) -> None:
        """Send by SMTP as an application does by default: without TLS, without a login."""
        with smtplib.SMTP("localhost", self.smtp_port, timeout=60) as connection:
            connection.send_message(message)


class Outside:
    """A mail host outside, to which messages are released: it keeps what it gets."""

    def __init__(self) -> None:
        self.envelopes: list[Envelope] = []

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        """Take a message."""
        self.envelopes.append(envelope)
        return "250 OK"


@contextmanager
def outside_host() -> Iterator[tuple[Outside, int]]:
    """Run the host while the block runs; yield it with its port."""
    outside, port = Outside(), free_port()
    controller = Controller(outside, hostname="127.0.0.1", port=port)
    controller.start()
    try:
        yield outside, port
    finally:
        controller.stop()
