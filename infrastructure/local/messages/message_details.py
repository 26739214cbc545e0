"""Read the details of one message: what lists show of it, and what searches find it by.

The addresses are those of the header, and in Bcc those of the envelope that no field names.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from chalicelib.core import ids
from chalicelib.mail_format.encoded_words import readable
from infrastructure.local.mailbox.header_fields import address_pairs
from infrastructure.local.mailbox.rows import UNUSUAL_BITS, UNUSUAL_TEXT, Details
from infrastructure.local.mailbox.search_texts import address_line, without_marks
from infrastructure.local.messages.html import Html
from infrastructure.local.messages.parts import ATTACHMENT, HTML, INLINE, TEXT, StoredMessage

_SNIPPET = 200
_SEARCHED_CHARACTERS = 20_000
_ADDRESS_FIELDS = ("From", "To", "Cc", "Bcc", "Reply-To")
_RECIPIENT_FIELDS = ("To", "Cc", "Bcc")
# What most fields are; others take ten times as long
_ONE_ADDRESS = re.compile(r"(?:([\w .=?+-]*?) *<)?([\w.+=-]+@[\w.-]+)(?(1)>)")
_SHORT = 200
_ID_LENGTH = len("Message-ID")
# More than the fields of one name of any sender have
_MOST_ADDRESS_CHARACTERS = 100_000
_MOST_OF_NAME = 1_000
# A text of millions of words takes seconds and ten times its size of memory
_READ_CHARACTERS = 1_000_000


def details_of(
    message_id: str,
    message: StoredMessage,
    service_id: str = "",
    context: Mapping[str, Any] | None = None,
) -> Details:
    """Return the details of one message.

    ``service_id`` is empty for one that the service did not send; ``context`` has the event fields
    of any other, if they are there.
    """
    context = context or {}
    text = readable_text(message, _READ_CHARACTERS)
    tags = [str(tag) for tag in context.get("rcpt_tags") or []]
    addresses = addresses_of(message)
    fresh = Details(
        id=message_id,
        from_name=next((name for name, address in addresses["From"] if address), ""),
        snippet=text[:_SNIPPET],
        attachments=sum(part.role == ATTACHMENT for part in message.parts),
        inlines=sum(part.role == INLINE for part in message.parts),
        message_id=service_id,
        transmission_id=ids.transmission_of(service_id)[0] if service_id else "",
        subaccount_id=int(context.get("subaccount_id") or 0),
        campaign_id=str(context.get("campaign_id") or ""),
        tags=json.dumps(tags),
        header_id=message.header("Message-ID").strip().strip("<>"),
        from_addresses=_as_json(addresses["From"]),
        to_addresses=_as_json(addresses["To"]),
        cc_addresses=_as_json(addresses["Cc"]),
        bcc_addresses=_as_json(addresses["Bcc"]),
        reply_to_addresses=_as_json(addresses["Reply-To"]),
        unusual=UNUSUAL_TEXT if _is_long(message, text) else 0,
        body=search_body(message, text[:_SEARCHED_CHARACTERS]),
    )
    return fresh._replace(unusual=fresh.unusual | _unusual_fields(message, fresh))


def _is_long(message: StoredMessage, text: str) -> bool:
    """Tell whether a message has more text than is searched in the index."""
    sizes = (part.end - part.start for part in message.parts if part.role == TEXT)
    return len(text) > _SEARCHED_CHARACTERS or any(size > _READ_CHARACTERS for size in sizes)


def search_body(message: StoredMessage, text: str) -> str:
    """Return what a search for words of a text looks at: the text, and the names of files."""
    filenames = (part.filename for part in message.parts if part.filename)
    return "\n".join((text, *filenames)).casefold()


def _unusual_fields(message: StoredMessage, details: Details) -> int:
    """Return the bits of the fields whose texts are more than their addresses, or malformed."""
    if not message.raw_headers:
        return sum(UNUSUAL_BITS.values())
    values: dict[str, list[str]] = {name: [] for name in UNUSUAL_BITS}
    for name, value in message.raw_headers:
        title = "Message-ID" if len(name) == _ID_LENGTH else name.title()
        if title in values and title.lower() == name.lower():
            values[title].append(readable(value))
    usual = {
        "From": address_line(details.from_addresses),
        "To": address_line(details.to_addresses),
        "Cc": address_line(details.cc_addresses),
        # What the index has there is of the envelope
        "Bcc": "",
    }
    bits = 0
    for name, text in usual.items():
        value = " ".join(values[name])
        is_long = len(value) > _MOST_ADDRESS_CHARACTERS
        if values[name] and (is_long or not text or without_marks(value) != text):
            bits |= UNUSUAL_BITS[name]
    message_ids = values["Message-ID"]
    if message_ids and message_ids != [f"<{details.header_id}>"]:
        bits |= UNUSUAL_BITS["Message-ID"]
    return bits


def addresses_of(message: StoredMessage) -> dict[str, list[tuple[str, str]]]:
    """Return names and addresses of the fields From, To, Cc, Bcc and Reply-To.

    Recipients of the envelope that no field names are in Bcc.
    """
    addresses: dict[str, list[tuple[str, str]]] = {name: [] for name in _ADDRESS_FIELDS}
    room = dict.fromkeys(_ADDRESS_FIELDS, _MOST_ADDRESS_CHARACTERS)
    for name, value in message.raw_headers:
        title = name.title()
        if title in addresses and room[title] > 0:
            addresses[title] += addresses_in(value[: room[title]])
            room[title] -= len(value)
    if not addresses["From"] and (text := message.header("From")):
        addresses["From"] = [(text[:_MOST_OF_NAME], "")]
    in_fields = {each.lower() for name in _RECIPIENT_FIELDS for _, each in addresses[name]}
    addresses["Bcc"] += [
        ("", each) for each in message.trace.recipients if each.lower() not in in_fields
    ]
    return addresses


def addresses_in(value: str) -> list[tuple[str, str]]:
    """Return names, decoded, and addresses of the undecoded value of a header field."""
    match = _ONE_ADDRESS.fullmatch(value) if len(value) < _SHORT else None
    if match:
        pairs = [(match[1] or "", match[2])]
    else:
        pairs = [pair for pair in address_pairs(value) if pair[1]]
    return [(readable(name) if "=?" in name else name, address) for name, address in pairs]


def _as_json(pairs: Sequence[tuple[str, str]]) -> str:
    if not pairs:
        return "[]"
    return json.dumps([{"Name": name, "Address": address} for name, address in pairs])


def readable_text(message: StoredMessage, most: int | None = None) -> str:
    """Return what a person reads in the message, or in its first characters, with single blanks."""
    text = message.body(TEXT)
    if text and not text.isspace():
        return " ".join(text[:most].split())
    html = message.body(HTML)
    return Html(html).text if html else ""
