"""Put mail into the mailbox as the catching port does, without the port."""

from __future__ import annotations

from contextlib import closing

from infrastructure.local.mailbox.mailbox import SinkMailbox
from infrastructure.local.mailbox.trace import Trace
from tests.journey.service import Service

_HTML = '<p style="border-radius: 4px">Thank you. <a href="http://127.0.0.1:9/">Your order</a></p>'


def catch(service: Service, trace: Trace, *fields: str, html: str = _HTML) -> str:
    """Store a message with further header fields; return its id."""
    head = ["From: Shop <app@shop.example>", "Content-Type: text/html", *fields]
    content = "\r\n".join([*head, "", html, ""]).encode()
    with closing(SinkMailbox(service.data_dir / "mail")) as mailbox:
        return mailbox.store(trace, content)
