"""Test a program that sends or receives mail: the objects behind the fixture ``postfinch``."""

from postfinch.testing.mailbox import Attachment, Link, Mailbox, Message
from postfinch.testing.received_mail import ReceivedMessage
from postfinch.testing.relay_webhook import Post, RelayWebhook
from postfinch.testing.test_account import SmtpAccess, TestAccount
from postfinch.testing.waiting import NeverHappened
from postfinch.testing.webhook_events import WebhookEvents

__all__ = [
    "Attachment",
    "Link",
    "Mailbox",
    "Message",
    "NeverHappened",
    "Post",
    "ReceivedMessage",
    "RelayWebhook",
    "SmtpAccess",
    "TestAccount",
    "WebhookEvents",
]
