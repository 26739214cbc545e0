"""Find received messages, and return their content and their attachments."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from chalicelib.core import blobs
from chalicelib.core.errors import NotFound
from chalicelib.core.scope import Scope
from chalicelib.core.settings import settings
from chalicelib.core.spool import Octets, Spool
from chalicelib.mail_format.parameters import parameter
from chalicelib.received_mail import parsing, store
from chalicelib.received_mail.inbound_queue import PREFIX
from chalicelib.received_mail.model import (
    Attachment,
    MessageSummary,
    ParsedMessage,
    ReceivedMessage,
)
from chalicelib.received_mail.request import MessageSearch

#: Reads of a page: where few messages match, it may have fewer results than it could, or none
MOST_READS: Final = 10
_OF_FILTERED: Final = 200
#: Attachments from here on may have an object of their own
_MOST_IN_REPLY: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Content:
    """Octets for a reply, or the URL of the object that has them because no reply can."""

    octets: bytes = b""
    url: str = ""


def find_page(scope: Scope, search: MessageSearch) -> tuple[list[MessageSummary], str]:
    """Return one page of the messages of a scope, the newest first, and where the next begins."""
    matches: list[MessageSummary] = []
    high = search.high
    for _ in range(MOST_READS):
        summaries, high = store.between(scope.account_id, search.low, high, _limit(scope, search))
        matches += [
            summary
            for summary in summaries
            if scope.covers(summary.subaccount_id) and search.filters.match(summary)
        ]
        if len(matches) > search.per_page:
            return cut_page(matches, search.per_page)
        if not high:
            break
    return matches, high


def cut_page(matches: Sequence[MessageSummary], count: int) -> tuple[list[MessageSummary], str]:
    """Return the first ``count`` of a page, and where the next one begins."""
    page = list(matches[:count])
    return page, store.position_before(page[-1])


def get(scope: Scope, message_id: str) -> ReceivedMessage:
    """Return a message of the scope; raises 404."""
    message = store.find(scope, message_id)
    if message is None:
        raise NotFound(f"message '{message_id[:100]}' could not be found")
    return message


def parsed(message: ReceivedMessage) -> ParsedMessage:
    """Return what a message says; raises 404 if its content has just been deleted."""
    try:
        with store.raw(message) as spool:
            return parsing.read(spool.octets())
    except blobs.BlobMissing:
        raise NotFound from None


def raw_content(message: ReceivedMessage) -> Content:
    """Return the raw message."""
    if message.blob and message.size > _room():
        disposition = file_disposition(f"{message.id}.eml")
        return Content(url=blobs.url_of(message.blob, "message/rfc822", disposition))
    try:
        with store.raw(message) as spool:
            return Content(spool.octets()[:])
    except blobs.BlobMissing:
        raise NotFound from None


def attachment_content(message: ReceivedMessage, number: int) -> tuple[Attachment, Content]:
    """Return the attachment of a message with this number, and its content; raises 404."""
    try:
        with store.raw(message) as spool:
            return _attachment_content(message, number, spool.octets())
    except blobs.BlobMissing:
        raise NotFound from None


def file_disposition(name: str) -> str:
    """Return the Content-Disposition (RFC 6266) of a file to be saved under a name."""
    return "; ".join(["attachment", *(parameter("filename", name) if name else ())])


def delete(message: ReceivedMessage) -> None:
    """Delete a message, and what was made of it."""
    attachments = _attachments_of(message) if message.blob and message.attachments else ()
    for attachment in attachments:
        if attachment.size > _MOST_IN_REPLY:
            blobs.delete(_object_of(message, attachment))
    store.delete(message)


def erase(scope: Scope, addresses: Iterable[str]) -> int:
    """Delete the messages of a scope to or from one of these addresses; return how many."""
    count = 0
    for summary in store.to_or_from(scope, addresses):
        if message := store.get(scope.account_id, summary.id):
            delete(message)
            count += 1
    return count


def _attachments_of(message: ReceivedMessage) -> tuple[Attachment, ...]:
    try:
        with store.raw(message) as spool:
            return parsing.read(spool.octets()).attachments
    except blobs.BlobMissing:  # an earlier deletion was interrupted
        return ()


def _limit(scope: Scope, search: MessageSearch) -> int:
    """Return how many messages to read of each shard."""
    filters = search.filters
    has_filters = any(
        (filters.domain, filters.recipient, filters.sender, filters.words, filters.action)
    )
    if has_filters or not scope.spans:
        return _OF_FILTERED
    return search.per_page // store.SHARDS + store.SHARDS


def _attachment_content(
    message: ReceivedMessage, number: int, octets: Octets
) -> tuple[Attachment, Content]:
    attachments = parsing.read(octets).attachments
    attachment = next((each for each in attachments if each.number == number), None)
    if attachment is None:
        raise NotFound(f"the message has no attachment {number}")
    pieces = parsing.content_of(octets, attachment)
    if attachment.size <= max(_room(), _MOST_IN_REPLY):
        return attachment, Content(b"".join(pieces))
    name = _object_of(message, attachment)
    with Spool() as spool:
        for piece in pieces:
            spool.write(piece)
        blobs.put_large(name, spool.octets())
    disposition = file_disposition(attachment.name)
    return attachment, Content(url=blobs.url_of(name, "application/octet-stream", disposition))


def _object_of(message: ReceivedMessage, attachment: Attachment) -> str:
    return f"{PREFIX}{message.id}/{attachment.number}"


def _room() -> int:
    """Return how many octets a reply can have, which travel in base64."""
    return settings().max_reply_bytes * 3 // 4
