"""Describe a message that was received for one recipient, and what was read in it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, TypedDict

from chalicelib.core.addresses import spelling
from chalicelib.core.json_types import Json

#: Milliseconds for which a message is kept, and for which the URLs of its attachments are good
KEPT_MS: Final = 10 * 86_400_000


class InReplyTo(TypedDict):
    """The message of this service that a received one answers."""

    transmission_id: str
    message_id: str
    rcpt_to: str


@dataclass(frozen=True, slots=True)
class ReceivedMessage:
    """A message as one recipient got it. Times are milliseconds, sizes bytes.

    ``id`` is the id of the relay events (``relay_id``) and of the batch that is posted to a relay
    webhook: the id of the SMTP message and two digits (base 16) for the recipient's place in it.
    ``action`` is that of ``inbound_domains.model``, with ``webhook_id`` or ``forward_to``; ``tag``
    is what follows a plus sign in the local part. ``verdicts`` and ``attachments`` are JSON.
    The raw message is ``content`` (compressed) or the object ``blob`` of the bucket, which so many
    recipients share as ``shares`` says.
    """

    id: str
    account_id: int
    subaccount_id: int | None
    domain: str
    received_ms: int
    rcpt_to: str
    mail_from: str
    peer_ip: str
    helo: str
    tls: str
    size: int
    action: str
    webhook_id: str = ""
    forward_to: str = ""
    tag: str = ""
    subject: str = ""
    friendly_from: str = ""
    verdicts: Json = field(default_factory=dict)
    in_reply_to: InReplyTo | None = None
    attachments: int = 0
    is_automatic: bool = False
    content: bytes = b""
    blob: str = ""
    shares: int = 1


@dataclass(frozen=True, slots=True)
class MessageSummary:
    """What a list shows of a message: fields of ``ReceivedMessage``, the subject cut."""

    id: str
    account_id: int
    subaccount_id: int | None
    domain: str
    received_ms: int
    rcpt_to: str
    mail_from: str
    size: int
    action: str
    friendly_from: str = ""
    subject: str = ""
    tag: str = ""
    attachments: int = 0

    def addresses(self) -> set[str]:
        """Return the addresses of recipient and sender in their one spelling."""
        return {spelling(each) for each in (self.rcpt_to, self.mail_from, self.friendly_from)}


@dataclass(frozen=True, slots=True)
class Attachment:
    """A part that is not text to be read; ``size`` is that of its decoded content.

    ``number`` counts the parts of the message that are no multipart, from 0. ``content_id`` is
    without its brackets, and empty if there is none. The octets from ``start`` to ``end`` of the
    raw message are its body, in the transfer encoding ``encoding``.
    """

    number: int
    name: str
    type: str
    size: int
    content_id: str
    is_inline: bool
    start: int
    end: int
    encoding: str


@dataclass(frozen=True, slots=True)
class ParsedMessage:
    """What a raw message says. Header values are decoded (RFC 2047), without folding.

    ``text`` and ``html`` are those of the last text/plain and the last text/html part that is no
    attachment, ``None`` without one. ``to`` and ``cc`` are bare addresses. ``references`` are the
    message ids of In-Reply-To and References, without brackets, the nearest first.
    """

    headers: tuple[tuple[str, str], ...]
    subject: str
    friendly_from: str
    to: tuple[str, ...]
    cc: tuple[str, ...]
    text: str | None
    html: str | None
    attachments: tuple[Attachment, ...]
    references: tuple[str, ...]
    is_automatic: bool
    hops: int
    """The Received fields of the message."""
