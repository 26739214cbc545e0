"""Define the rows of the mailbox's index and the conditions of a search."""

from __future__ import annotations

import json
from typing import NamedTuple

#: Bits of `Details.unusual`; the last one is for a text that the search text has only a part of
UNUSUAL_BITS = {"From": 1, "To": 2, "Cc": 4, "Bcc": 8, "Message-ID": 16}
UNUSUAL_TEXT = 32


class Row(NamedTuple):
    """One message. `recipients`, `senders` and the casefolded `subjects` are its search texts.

    `senders` has lines for the address of From, for the field as people read it, and for the
    envelope sender (`search_texts`). `recipient` has all recipients of the envelope, with commas
    between them. `login` is the name that the sender logged in with. `given_tags` is a JSON array
    of the tags that the message was given here. `shown_size` counts the bytes that mail readers
    get, which tags do not change (`trace.shown`). `uid` is the index's own number of the message:
    it grows with each message that comes and is never given twice (0: not in the index yet).
    """

    id: str
    recipient: str
    author: str
    subject: str
    size: int
    unread: bool
    inbox: str
    login: str
    given_tags: str
    recipients: str
    senders: str
    subjects: str
    shown_size: int
    uid: int = 0


class Details(NamedTuple):
    """What parsing a message and the service's tables tell about it.

    `attachments` and `inlines` are the numbers of such parts. `message_id` and what follows it, up
    to the JSON array `tags`, are the service's; a message that the service did not send has empty
    texts there. `subaccount_id` is 0 for none. `header_id` is the Message-ID of the message,
    without angle brackets. The addresses are JSON arrays of `{"Name": ..., "Address": ...}` of the
    header fields; those of Bcc are the envelope's recipients that no field names. `unusual` has
    the bits of what is not found by what the index has of it (`UNUSUAL_BITS`). `body` is the
    casefolded search text: a line of what a person reads, and one for each file name.
    """

    id: str
    from_name: str
    snippet: str
    attachments: int
    inlines: int
    message_id: str
    transmission_id: str
    subaccount_id: int
    campaign_id: str
    tags: str
    header_id: str
    from_addresses: str
    to_addresses: str
    cc_addresses: str
    bcc_addresses: str
    reply_to_addresses: str
    unusual: int
    body: str


class Inbox(NamedTuple):
    """The numbers of messages of an inbox; that of mail of no other one has an empty name.

    The mail of a subaccount is in the inbox `subaccount:` with its id, besides that of its own.
    """

    name: str
    messages: int
    unread: int


class Arrivals(NamedTuple):
    """All messages since the index was made: the greatest uid, and how many were deleted."""

    last_uid: int
    deleted: int


class Condition(NamedTuple):
    """A condition of a search.

    `sql` is one on the columns of `messages`, and of `search_fields` if it is `in_fields`. If there
    are `texts`, it is that one of them is in the search text of a message, or with `negated` that
    none is; `sql` is empty then. What details tell can only be found once `needs_details` are
    there.
    """

    sql: str
    values: tuple[str | int | bytes, ...] = ()
    needs_details: bool = False
    in_fields: bool = False
    texts: tuple[str, ...] = ()
    negated: bool = False


def tags_of(row: Row, details: Details | None) -> list[str]:
    """Return the tags that a message was given here and by the service, each once, in order."""
    tags = json.loads(row.given_tags) + (json.loads(details.tags) if details else [])
    return sorted({tag.casefold(): tag for tag in reversed(tags)}.values(), key=str.casefold)


def matches_line(text: str, pattern: str) -> bool:
    """Whether a line of `text` is `pattern`, in which `*` stands for any characters."""
    first, *others = pattern.split("*")
    if not others:
        return pattern in text.split("\n")
    return any(_matches(line, first, others) for line in text.split("\n"))


def _matches(line: str, first: str, others: list[str]) -> bool:
    last = others[-1]
    if not line.startswith(first) or not line.endswith(last):
        return False
    position, end = len(first), len(line) - len(last)
    for piece in others[:-1]:
        at = line.find(piece, position, end)
        if at < 0:
            return False
        position = at + len(piece)
    return position <= end
