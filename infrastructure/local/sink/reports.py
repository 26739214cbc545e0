"""Write the reports of a receiving site: bounces (RFC 3464) and complaints (RFC 5965).

They are put together as bytes, because the standard library would re-serialise the message that
they carry and so change what was signed.
"""

import re
import uuid
from dataclasses import dataclass
from datetime import datetime
from email.utils import format_datetime

from infrastructure.local.mailbox.header_fields import field, header_block

BOUNCE_STATUS = "5.1.1"
BOUNCE_REPLY = "550 5.1.1 Recipient address rejected: user unknown"


@dataclass(frozen=True, slots=True)
class Accepted:
    """A message the sink accepted for one recipient, without the mailbox's trace fields."""

    sender: str
    recipient: str
    message: bytes
    received_at: datetime

    @property
    def domain(self) -> str:
        """The recipient's domain: the site that reports."""
        return self.recipient.rpartition("@")[2]


def delivery_status_report(accepted: Accepted, now: datetime) -> bytes:
    """A DSN saying that the recipient turned out not to exist; it returns the header only."""
    arrived, reported = format_datetime(accepted.received_at), format_datetime(now)
    status = [
        f"Reporting-MTA: dns; mx.{accepted.domain}",
        f"Arrival-Date: {arrived}",
        "",
        f"Final-Recipient: {_typed(accepted.recipient)}",
        "Action: failed",
        f"Status: {BOUNCE_STATUS}",
        f"Remote-MTA: dns; mx.{accepted.domain}",
        f"Diagnostic-Code: smtp; {BOUNCE_REPLY}",
        f"Last-Attempt-Date: {reported}",
        "",
    ]
    text = f"Your message to {accepted.recipient} could not be delivered:\r\n{BOUNCE_REPLY}"
    return _report(
        author=f"Mail Delivery System <MAILER-DAEMON@{accepted.domain}>",
        accepted=accepted,
        subject="Undelivered Mail Returned to Sender",
        report_type="delivery-status",
        parts=[
            ("text/plain; charset=utf-8", text.encode()),
            ("message/delivery-status", "\r\n".join(status).encode()),
            ("text/rfc822-headers", header_block(accepted.message) + b"\r\n"),
        ],
        now=now,
    )


def feedback_report(accepted: Accepted, now: datetime) -> bytes:
    """An ARF report saying that the recipient called the message spam; it returns it whole."""
    feedback = [
        "Feedback-Type: abuse",
        "User-Agent: Postfinch-Sink/1.0",
        "Version: 1",
        f"Original-Mail-From: <{accepted.sender}>",
        f"Original-Rcpt-To: <{accepted.recipient}>",
        f"Arrival-Date: {format_datetime(accepted.received_at)}",
        "Source-IP: 127.0.0.1",
        f"Reported-Domain: {accepted.sender.rpartition('@')[2]}",
        "",
    ]
    text = f"This is an abuse report for a message to {accepted.recipient}."
    return _report(
        author=f"Abuse Desk <feedback@{accepted.domain}>",
        accepted=accepted,
        subject="Abuse report",
        report_type="feedback-report",
        parts=[
            ("text/plain; charset=utf-8", text.encode()),
            ("message/feedback-report", "\r\n".join(feedback).encode()),
            ("message/rfc822", accepted.message),
        ],
        now=now,
    )


def automatic_reply(accepted: Accepted, now: datetime) -> bytes:
    """The answer of somebody on vacation (RFC 3834)."""
    headers = [
        f"From: {accepted.recipient}",
        f"To: <{accepted.sender}>",
        "Subject: Automatic reply: out of office",
        f"Date: {format_datetime(now)}",
        f"Message-ID: <{uuid.uuid4().hex}@{accepted.domain}>",
        f"In-Reply-To: {field(header_block(accepted.message), 'Message-ID')}",
        "Auto-Submitted: auto-replied",
        "MIME-Version: 1.0",
        "Content-Type: text/plain; charset=utf-8",
        "Content-Transfer-Encoding: 7bit",
        "",
        "I am out of office and will read your message when I am back.",
        "",
    ]
    return "\r\n".join(headers).encode()


def _report(
    author: str,
    accepted: Accepted,
    subject: str,
    report_type: str,
    parts: list[tuple[str, bytes]],
    now: datetime,
) -> bytes:
    boundary = f"report-{uuid.uuid4().hex}"
    headers = [
        f"From: {author}",
        f"To: <{accepted.sender}>",
        f"Subject: {subject}",
        f"Date: {format_datetime(now)}",
        f"Message-ID: <{uuid.uuid4().hex}@{accepted.domain}>",
        "Auto-Submitted: auto-replied",
        "MIME-Version: 1.0",
        f'Content-Type: multipart/report; report-type={report_type}; boundary="{boundary}"',
    ]
    delimiter = f"\r\n--{boundary}\r\n".encode()
    body = b"".join(delimiter + _part(content_type, body) for content_type, body in parts)
    return "\r\n".join([*headers, ""]).encode() + body + f"\r\n--{boundary}--\r\n".encode()


def _part(content_type: str, body: bytes) -> bytes:
    encoding = "7bit" if body.isascii() else "8bit"
    head = f"Content-Type: {content_type}\r\nContent-Transfer-Encoding: {encoding}\r\n\r\n"
    return head.encode() + body


def _typed(address: str) -> str:
    """An address with its type; beyond ASCII in the 7-bit form of RFC 6533 section 3."""
    if address.isascii():
        return f"rfc822; {address}"
    escaped = re.sub(r"[^\x21-\x7e]", lambda match: f"\\x{{{ord(match[0]):X}}}", address)
    return f"utf-8; {escaped}"
