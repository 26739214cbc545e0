"""Make received messages."""

from __future__ import annotations

from dataclasses import replace
from email.message import EmailMessage
from typing import Any

from chalicelib.core import clock
from chalicelib.core.compression import compress
from chalicelib.received_mail import parsing, store
from chalicelib.received_mail.model import ReceivedMessage

BOB = "bob@tickets.test"


def mail(text: str = "Hello", **fields: str) -> EmailMessage:
    """Return a message to Bob; ``fields`` are header fields."""
    message = EmailMessage()
    usual = {"From": "Ann <ann@inbox.test>", "To": BOB, "Subject": "Hi"}
    for name, value in (usual | fields).items():
        message[name] = value
    message.set_content(text)
    return message


def octets_of(message: EmailMessage) -> bytes:
    """Return a message as it travels."""
    return message.as_bytes().replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")


def received(
    number: int = 0, raw: bytes = b"", *, account_id: int = 1, **fields: Any
) -> ReceivedMessage:
    """Return a message as Bob got it; those with a higher number came later."""
    raw = raw or octets_of(mail())
    parsed = parsing.read(raw)
    now = clock.now_ms() - 60_000 + number
    message = ReceivedMessage(
        id=f"{now:012x}{number:012x}00",
        account_id=account_id,
        subaccount_id=None,
        domain="tickets.test",
        received_ms=now,
        rcpt_to=BOB,
        mail_from="ann@inbox.test",
        peer_ip="192.0.2.1",
        helo="mx.inbox.test",
        tls="TLSv1.3",
        size=len(raw),
        action="store",
        subject=parsed.subject,
        friendly_from=parsed.friendly_from,
        verdicts={"spf": {"result": "pass"}},
        attachments=len(parsed.attachments),
        is_automatic=parsed.is_automatic,
        content=compress(raw),
    )
    return replace(message, **fields)


def stored(number: int = 0, raw: bytes = b"", **fields: Any) -> ReceivedMessage:
    """Store such a message and return it."""
    message = received(number, raw, **fields)
    store.put_all([message])
    return message
