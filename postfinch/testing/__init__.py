"""Test a program that sends or receives mail: the objects behind the fixture ``postfinch``."""

from postfinch.testing.checks import (
    Checks,
    ClientSupport,
    HtmlCheck,
    HtmlWarning,
    LinkCheck,
    LinkStatus,
    SpamCheck,
    SpamRule,
)
from postfinch.testing.mailbox import Attachment, Link, Mailbox, Message
from postfinch.testing.received_mail import ReceivedMessage
from postfinch.testing.relay_webhook import Post, RelayWebhook
from postfinch.testing.test_account import SmtpAccess, TestAccount
from postfinch.testing.waiting import NeverHappened
from postfinch.testing.webhook_events import WebhookEvents

__all__ = [
    "Attachment",
    "Checks",
    "ClientSupport",
    "HtmlCheck",
    "HtmlWarning",
    "Link",
    "LinkCheck",
    "LinkStatus",
    "Mailbox",
    "Message",
    "NeverHappened",
    "Post",
    "ReceivedMessage",
    "RelayWebhook",
    "SmtpAccess",
    "SpamCheck",
    "SpamRule",
    "TestAccount",
    "WebhookEvents",
]
