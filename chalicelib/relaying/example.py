"""Build the example message that a test posts to a relay webhook."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Final

from chalicelib.core.json_types import Json
from chalicelib.core.spool import Spool
from chalicelib.received_mail import parsing
from chalicelib.received_mail.model import ReceivedMessage
from chalicelib.relay_webhooks.model import RelayWebhook
from chalicelib.relaying import payload

#: 2026-01-05 09:00:00 UTC
_RECEIVED_MS: Final = 1_767_603_600_000
_VERDICTS: Final[Json] = {
    "spf": {"result": "pass", "domain": "example.org", "scope": "mfrom", "reason": ""},
    "dkim": [],
    "dmarc": {
        "result": "pass",
        "domain": "example.org",
        "policy": "reject",
        "disposition": "none",
        "reason": "",
    },
    "arc": {"result": "none", "chain": 0, "sealer": "", "oldest_pass": None, "reason": ""},
    "spam": None,
    "virus": None,
}
_RAW: Final = """\
Received: from mail.example.org (mail.example.org [192.0.2.1]) by mx.example.com;\r
 Mon, 5 Jan 2026 09:00:00 +0000\r
From: Anna <anna@example.org>\r
To: support+123@{domain}\r
Subject: Example of a received message\r
Message-ID: <example@example.org>\r
MIME-Version: 1.0\r
Content-Type: text/plain; charset=utf-8\r
\r
This message tests a relay webhook.\r
"""


def body(webhook: RelayWebhook) -> AbstractContextManager[Spool]:
    """Return what a test posts to a relay webhook, for the block."""
    octets = _RAW.format(domain=webhook.domain).encode()
    message = ReceivedMessage(
        id="0" * 26,
        account_id=webhook.account_id,
        subaccount_id=webhook.subaccount_id,
        domain=webhook.domain,
        received_ms=_RECEIVED_MS,
        rcpt_to=f"support+123@{webhook.domain}",
        mail_from="anna@example.org",
        peer_ip="192.0.2.1",
        helo="mail.example.org",
        tls="",
        size=len(octets),
        action="webhook",
        webhook_id=webhook.id,
        tag="123",
        verdicts=_VERDICTS,
    )
    return payload.build(message, parsing.read(octets), octets)
