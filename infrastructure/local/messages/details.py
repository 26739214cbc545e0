"""Work out the details of messages, when somebody wants to see or search them.

Parsing a message takes about a millisecond, and its campaign, tags and subaccount are in the
service's tables. So the sink leaves both alone; what is worked out here is stored in the index.
"""

from __future__ import annotations

import json
import re
import sqlite3
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from chalicelib.core import ids
from chalicelib.mail_format.encoded_words import readable
from chalicelib.sending_domains import return_path
from chalicelib.tracking import tokens
from chalicelib.tracking.model import LIST_UNSUBSCRIBE
from chalicelib.tracking.store import message_context
from infrastructure.local.mailbox.full_disk import is_full
from infrastructure.local.mailbox.header_fields import address_pairs
from infrastructure.local.mailbox.mailbox import SinkMailbox
from infrastructure.local.mailbox.rows import (
    UNUSUAL_BITS,
    UNUSUAL_TEXT,
    Condition,
    Details,
)
from infrastructure.local.mailbox.search_texts import address_line, without_marks
from infrastructure.local.messages.html import Html
from infrastructure.local.messages.parts import ATTACHMENT, HTML, INLINE, TEXT, StoredMessage
from infrastructure.local.sink.mail_client import one_click_url

BATCH = 100
_SNIPPET = 200
_SEARCHED_CHARACTERS = 20_000
# A text of millions of words takes seconds and ten times its size of memory
_READ_CHARACTERS = 1_000_000
_ADDRESS_FIELDS = ("From", "To", "Cc", "Bcc", "Reply-To")
_RECIPIENT_FIELDS = ("To", "Cc", "Bcc")
# What most fields are; others take ten times as long
_ONE_ADDRESS = re.compile(r"(?:([\w .=?+-]*?) *<)?([\w.+=-]+@[\w.-]+)(?(1)>)")
_SHORT = 200
_ID_LENGTH = len("Message-ID")
# More than the fields of one name of any sender have
_MOST_ADDRESS_CHARACTERS = 100_000
_MOST_OF_NAME = 1_000


class Reference(NamedTuple):
    """The service's id of a message; ``first_index`` begins its work unit, if that is known."""

    message_id: str
    first_index: int | None = None


#: Returns event fields of messages, by message id; unknown messages are left out
Contexts = Callable[[Sequence[Reference]], Mapping[str, Mapping[str, Any]]]


def contexts_of(references: Sequence[Reference]) -> dict[str, Mapping[str, Any]]:
    """Read the message contexts from the service's tables."""
    of_units = [
        (ref.message_id, first) for ref in references if (first := ref.first_index) is not None
    ]
    contexts = message_context.of_messages(of_units)
    for reference in references:
        if reference.message_id not in contexts and (
            context := message_context.of_message(reference.message_id)
        ):
            contexts[reference.message_id] = context
    return {message_id: context.fields for message_id, context in contexts.items()}


class Detailer:
    """Adds details to the index of a mailbox. Any thread may call it."""

    def __init__(self, mailbox: SinkMailbox, contexts: Contexts = contexts_of) -> None:
        self.mailbox = mailbox
        self._contexts = contexts
        self._lock = threading.Lock()

    def details(self, message_ids: Sequence[str]) -> dict[str, Details]:
        """Return the details of messages by id; those of deleted messages are left out.

        What another thread works out meanwhile may be worked out twice, which harms nothing: so
        nobody who looks at a message waits for work on others.
        """
        known_details = self.mailbox.index.details(message_ids)
        missing_ids = [each for each in message_ids if each not in known_details]
        fresh = [
            details
            for start in range(0, len(missing_ids), BATCH)
            for details in self._shown(missing_ids[start : start + BATCH])
        ]
        return known_details | {each.id: each for each in fresh}

    def complete_for(
        self, conditions: Sequence[Condition], before: int | None, seconds: float
    ) -> int | None:
        """Add what a search needs and is missing, as ``complete`` does."""
        if any(each.needs_details for each in conditions):
            try:
                return self.complete(before, seconds)
            except sqlite3.OperationalError as error:
                # What has details is found all the same
                if not is_full(error):
                    raise
        return None

    def complete(self, before: int | None, seconds: float) -> int | None:
        """Add what is missing, the newest messages first, for about some seconds.

        Returns ``None`` if all messages older than the uid ``before`` have details, else the oldest
        uid from which on they do.
        """
        deadline = time.monotonic() + seconds
        bound = before
        while missing := self._add_missing(bound, BATCH):
            bound = missing[-1][0]
            if len(missing) < BATCH:
                break
            if time.monotonic() >= deadline:
                return bound
        return None

    def add_some(self, most: int) -> bool:
        """Add the details of the newest messages that lack them; False if none does."""
        return bool(self._add_missing(None, most))

    def _add_missing(self, before: int | None, most: int) -> list[tuple[int, str]]:
        # One thread at a time, so that searches which wait for the same details share the work
        with self._lock:
            missing = self.mailbox.index.undetailed(before, most)
            details = self._details([message_id for _, message_id in missing])
            self.mailbox.index.add_details(details)
            return missing

    def _shown(self, message_ids: Sequence[str]) -> list[Details]:
        """Return details to be shown, which are not stored where the disk is full."""
        details = self._details(message_ids)
        try:
            self.mailbox.index.add_details(details)
        except sqlite3.OperationalError as error:
            if not is_full(error):
                raise
        return details

    def _details(self, message_ids: Sequence[str]) -> list[Details]:
        messages: dict[str, StoredMessage] = {}
        for message_id in message_ids:
            source = self.mailbox.read(message_id)
            # Without its file a message is about to be deleted
            if source is not None:
                messages[message_id] = StoredMessage(source)
        references = {each: reference_of(message) for each, message in messages.items()}
        contexts = self._contexts([each for each in references.values() if each])
        return [
            details_of(message_id, message, references[message_id], contexts)
            for message_id, message in messages.items()
        ]


def reference_of(message: StoredMessage) -> Reference | None:
    """Return the service's id of a message, ``None`` if the service did not send it."""
    url = one_click_url(message.content)
    if url is not None:
        try:
            subject, _ = tokens.read(LIST_UNSUBSCRIBE, url.rpartition("/")[2])
        except ValueError:
            pass
        else:
            return Reference(subject.message_id, subject.first_index)
    for text in (message.sender.rpartition("@")[0], message.header(return_path.HEADER)):
        if message_id := return_path.message_of(text):
            return Reference(message_id)
    return None


def details_of(
    message_id: str,
    message: StoredMessage,
    reference: Reference | None,
    contexts: Mapping[str, Mapping[str, Any]],
) -> Details:
    """Return the details of one message."""
    context = contexts.get(reference.message_id, {}) if reference else {}
    text = readable_text(message, _READ_CHARACTERS)
    tags = [str(tag) for tag in context.get("rcpt_tags") or []]
    addresses = addresses_of(message)
    fresh = Details(
        id=message_id,
        from_name=next((name for name, address in addresses["From"] if address), ""),
        snippet=text[:_SNIPPET],
        attachments=sum(part.role == ATTACHMENT for part in message.parts),
        inlines=sum(part.role == INLINE for part in message.parts),
        message_id=reference.message_id if reference else "",
        transmission_id=ids.transmission_of(reference.message_id)[0] if reference else "",
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
