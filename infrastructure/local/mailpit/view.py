"""Show messages as Mailpit's API does."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Any

from chalicelib.mail_format.header_section import MessageError, header_fields, split_head
from infrastructure.local.mailbox.mailbox import received_at
from infrastructure.local.mailbox.rows import Details, Row, tags_of
from infrastructure.local.mailpit.list_unsubscribe import list_unsubscribe
from infrastructure.local.mailpit.mime_parts import MimeParts
from infrastructure.local.messages.parts import StoredMessage

_NOBODY = {"Name": "", "Address": ""}


def summary_of(row: Row, details: Details) -> dict[str, Any]:
    """Return what a list shows of a message."""
    return {
        "ID": row.id,
        "MessageID": details.header_id,
        "Read": not row.unread,
        **_addresses(details),
        "Subject": row.subject,
        "Created": received_at(row.id),
        "Username": row.login,
        "Tags": tags_of(row, details),
        "Size": row.size,
        "Attachments": details.attachments,
        "Snippet": details.snippet,
    }


def message_of(row: Row, details: Details, message: StoredMessage) -> dict[str, Any]:
    """Return a whole message, without the content of its files."""
    parts = MimeParts(message)
    addresses = _addresses(details)
    return {
        "ID": row.id,
        "MessageID": details.header_id,
        **addresses,
        "ReturnPath": message.sender or addresses["From"]["Address"],
        "Subject": row.subject,
        "ListUnsubscribe": list_unsubscribe(
            message.header("List-Unsubscribe"), message.header("List-Unsubscribe-Post")
        ),
        "Date": _date_of(message) or received_at(row.id),
        "Tags": tags_of(row, details),
        "Username": row.login,
        "Text": parts.text,
        "HTML": parts.html,
        "Size": row.size,
        "Inline": parts.view(parts.inlines),
        "Attachments": parts.view(parts.attachments),
    }


def raw_of(message: StoredMessage, details: Details) -> bytes:
    """Return a message as Mailpit keeps it.

    Its return path is in the header, and in Bcc are the recipients that no field names.
    """
    lines = [f"Return-Path: <{message.sender}>"]
    in_fields = message.header("Bcc").lower()
    bcc = [each["Address"] for each in json.loads(details.bcc_addresses)]
    if hidden := [each for each in bcc if each and each.lower() not in in_fields]:
        lines.append(f"Bcc: {', '.join(hidden)}")
    return "".join(f"{line}\r\n" for line in lines).encode() + message.content


def headers_of(message: StoredMessage, details: Details) -> dict[str, list[str]]:
    """Return the values of each field of the header, unfolded but not decoded.

    The names are spelled as :func:`canonical` says.
    """
    raw = raw_of(message, details)
    head_end, _ = split_head(raw, 0, len(raw))
    headers: dict[str, list[str]] = {}
    try:
        fields = [field for _, field in header_fields(raw, 0, head_end)]
    except MessageError:
        fields = []
    for name, _, value in (field.partition(b":") for field in fields):
        text = b" ".join(line.strip() for line in value.splitlines()).decode("utf-8", "replace")
        headers.setdefault(canonical(name.decode("latin-1")), []).append(text.strip())
    return headers


def canonical(name: str) -> str:
    """Return the name of a field with a capital letter after each hyphen, and small ones else.

    >>> canonical("X-SPAM-score")
    'X-Spam-Score'
    """
    return "-".join(word[:1].upper() + word[1:].lower() for word in name.split("-"))


def _addresses(details: Details) -> dict[str, Any]:
    senders: Sequence[dict[str, str]] = json.loads(details.from_addresses)
    return {
        "From": senders[0] if senders else _NOBODY,
        "To": json.loads(details.to_addresses),
        "Cc": json.loads(details.cc_addresses),
        "Bcc": json.loads(details.bcc_addresses),
        "ReplyTo": json.loads(details.reply_to_addresses),
    }


def _date_of(message: StoredMessage) -> str:
    try:
        moment = parsedate_to_datetime(message.header("Date")[:100])
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return moment.isoformat().replace("+00:00", "Z")
    except (ValueError, TypeError, IndexError, OverflowError):
        return ""
