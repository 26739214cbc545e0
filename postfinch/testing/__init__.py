"""Test a program that sends mail: the objects behind the fixture ``postfinch``."""

from postfinch.testing.mailbox import Attachment, Link, Mailbox, Message
from postfinch.testing.test_account import SmtpAccess, TestAccount
from postfinch.testing.waiting import NeverHappened
from postfinch.testing.webhook_events import WebhookEvents

__all__ = [
    "Attachment",
    "Link",
    "Mailbox",
    "Message",
    "NeverHappened",
    "SmtpAccess",
    "TestAccount",
    "WebhookEvents",
]
