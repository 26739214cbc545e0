"""A message with all kinds of parts, as the mailbox stores it."""

from __future__ import annotations

from email.message import EmailMessage
from email.policy import SMTP

PNG = b"\x89PNG\r\n\x1a\n-not-a-real-image"


def stored(
    content: bytes, sender: str = "b@bounce.test", recipient: str = "ann@inbox.test"
) -> bytes:
    return f"Return-Path: <{sender}>\r\nDelivered-To: {recipient}\r\n".encode() + content


def rich_message(html: str = '<p>Hello <b>Ann</b></p><img src="cid:logo@a" alt="Logo">') -> bytes:
    message = EmailMessage(policy=SMTP)
    message["From"] = "Jürgen <shop@example.test>"
    message["To"] = "ann@inbox.test"
    message["Subject"] = "Grüße"
    message.set_content("Hello Ann,\n\nthis is the text — 7 €.\n")
    message.add_alternative("<html amp4email>Hello</html>", subtype="x-amp-html")
    message.add_alternative(html, subtype="html")
    html_part = list(message.iter_parts())[-1]
    assert isinstance(html_part, EmailMessage)
    html_part.add_related(PNG, "image", "png", cid="<logo@a>")
    message.add_attachment(b"a,b\n1,2\n", "text", "csv", filename="zahlen – Mai.csv")
    return message.as_bytes()
