"""Write a person's answer to a message, as a mail client does (RFC 5322 3.6.4).

It goes to the addresses in Reply-To, or in From where there is none, and quotes the message.
"""

from __future__ import annotations

import uuid
from datetime import datetime
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime

from chalicelib.core.addresses import is_address
from infrastructure.local.mailbox.header_fields import (
    address_pairs,
    field,
    first_address,
    header_block,
)
from infrastructure.local.messages.parts import TEXT, StoredMessage
from infrastructure.local.sink.reports import Accepted

#: Most message ids that References names
_MOST_REFERENCES = 20
_MOST_QUOTED = 20_000


def answer_addresses(message: bytes) -> list[str]:
    """Return the bare addresses that an answer to a message goes to."""
    headers = header_block(message)
    fields = field(headers, "Reply-To") or field(headers, "From")
    addresses = [address for _, address in address_pairs(fields) if is_address(address)]
    return list(dict.fromkeys(addresses))


def answer(accepted: Accepted, addresses: list[str], text: str, now: datetime) -> bytes:
    """Return the answer of a message's recipient with a text of theirs."""
    headers = header_block(accepted.message)
    original = field(headers, "Message-ID")
    references = [*field(headers, "References").split(), original][-_MOST_REFERENCES:]
    is_international = not all(map(str.isascii, [accepted.recipient, *addresses]))
    mail = EmailMessage(policy=SMTP.clone(utf8=is_international, cte_type="8bit"))
    mail["From"] = accepted.recipient
    mail["To"] = ", ".join(addresses)
    mail["Subject"] = _subject(accepted.message)
    mail["Date"] = format_datetime(now)
    mail["Message-ID"] = f"<{uuid.uuid4().hex}@{accepted.domain}>"
    if original:
        mail["In-Reply-To"] = original
        mail["References"] = " ".join(references)
    mail.set_content(f"{text.rstrip()}\n\n{_quote(accepted)}", cte="8bit")
    return mail.as_bytes()


def _subject(message: bytes) -> str:
    subject = " ".join(StoredMessage(message).header("Subject").split())
    return subject if subject.lower().startswith("re:") else f"Re: {subject}".rstrip()


def _quote(accepted: Accepted) -> str:
    """Return the text of the message as mail clients quote it, below who wrote it when."""
    author = first_address(field(header_block(accepted.message), "From")) or accepted.sender
    body = (StoredMessage(accepted.message).body(TEXT) or "")[:_MOST_QUOTED]
    lines = [f"> {line}".rstrip() for line in body.splitlines()]
    return "\n".join([f"On {accepted.received_at:%a, %d %b %Y at %H:%M}, {author} wrote:", *lines])
