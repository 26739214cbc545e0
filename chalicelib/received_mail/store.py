"""Keep received messages for ``RECEIVED_MAIL_RETENTION`` in the table ``messages``.

Access patterns of ``messages``:

- one message, as one recipient got it → ``received#<SMTP message id>`` / ``<place>/message``
- that it was deleted → ``received#<SMTP message id>`` / ``<place>/deleted``
- the messages of an account by time → ``received#<account>/<shard>`` / ``<ms>#<id>``

A place is two digits (base 16), the last of the message's id. The messages of an account are spread
over ``SHARDS`` partitions, each of which takes a thousand a second; a list reads all of them. The
raw message is in the item if it is small when compressed, otherwise it is the object
``received/<SMTP message id>`` of the bucket, which all recipients share. It is deleted when each of
them has deleted the message: one may do so before the message is stored for the others.

Writing a message again writes the same items, and a deleted one stays deleted: whoever writes looks
for the mark of a deletion afterwards, and whoever deletes writes it first.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final, NotRequired, cast

from chalicelib.core import audit, blobs, clock, compression, dynamo
from chalicelib.core.dynamo import Attributes, Key, Keyed, Table, attributes_of
from chalicelib.core.scope import Scope
from chalicelib.core.settings import settings
from chalicelib.core.spool import Spool
from chalicelib.received_mail.inbound_queue import PREFIX
from chalicelib.received_mail.model import InReplyTo, MessageSummary, ReceivedMessage


class SummaryFields(Attributes):
    """The fields of ``MessageSummary``."""

    id: str
    account_id: int
    subaccount_id: NotRequired[int]
    domain: str
    received_ms: int
    rcpt_to: str
    mail_from: str
    friendly_from: NotRequired[str]
    subject: NotRequired[str]
    tag: NotRequired[str]
    size: int
    action: str
    attachments: NotRequired[int]
    expires: int


class SummaryItem(Keyed, SummaryFields):
    """What a list shows of a message."""


class MessageItem(Keyed, SummaryFields):
    """A message: the fields of ``ReceivedMessage``; empty ones are left out."""

    peer_ip: str
    helo: str
    tls: NotRequired[str]
    webhook_id: NotRequired[str]
    forward_to: NotRequired[str]
    #: JSON
    verdicts: str
    in_reply_to: NotRequired[InReplyTo]
    is_automatic: bool
    #: The compressed raw message, or the object of the bucket that holds it as it is
    content: NotRequired[bytes]
    blob: NotRequired[str]
    shares: NotRequired[int]


class DeletionItem(Keyed):
    """The mark that a message was deleted."""

    expires: int


SHARDS: Final = 8

_messages: Table[MessageItem] = Table("messages")
_summaries: Table[SummaryItem] = Table("messages")
_deletions: Table[DeletionItem] = Table("messages")

RESOURCE: Final = "inbound-messages"
_ID = re.compile("[0-9a-f]{26}")
#: A larger raw message is an object of the bucket
_INLINE_BYTES: Final = 8 * 1024
_LONGEST_SUBJECT: Final = 200
_FIELDS: Final = tuple(ReceivedMessage.__slots__)
_SUMMARY_FIELDS: Final = tuple(MessageSummary.__slots__)
#: Sorts behind all positions that begin like it
_END: Final = "~"


def put_all(messages: Sequence[ReceivedMessage]) -> None:
    """Store messages, 12 a request; those that were deleted stay deleted.

    Those of one SMTP message come in one call.
    """
    if not messages:
        return
    shares = Counter(message.id[:-2] for message in messages)
    items = [_to_item(replace(each, shares=shares[each.id[:-2]])) for each in messages]
    summaries = [_to_summary(item) for item in items]
    dynamo.write_all(
        [
            each
            for item, summary in zip(items, summaries, strict=True)
            for each in ((_messages, item), (_summaries, summary))
        ]
    )
    ids = {_deletion_key(item["id"]): item["id"] for item in items}
    for deletion in _deletions.get_all(ids, consistent=True):
        item_id = ids[deletion["pk"], deletion["sk"]]
        item = next(each for each in items if each["id"] == item_id)
        _messages.write_all([], delete=[_key(item_id), _summary_key(item)])


def get(account_id: int, message_id: str) -> ReceivedMessage | None:
    """Return a message of an account, or ``None``."""
    message = by_id(message_id)
    return message if message and message.account_id == account_id else None


def find(scope: Scope, message_id: str) -> ReceivedMessage | None:
    """Return a message if it belongs to the scope, or ``None``."""
    message = get(scope.account_id, message_id)
    return message if message and scope.covers(message.subaccount_id) else None


def by_id(message_id: str) -> ReceivedMessage | None:
    """Return a message of any account, or ``None``: for who has a signed link to it."""
    if not _ID.fullmatch(message_id):
        return None
    item = _messages.get(*_key(message_id))
    if item is None or item["expires"] <= clock.now():
        return None
    return _from_item(item)


@contextmanager
def raw(message: ReceivedMessage) -> Iterator[Spool]:
    """Return the raw message for the block; raises ``blobs.BlobMissing`` if it is deleted."""
    if message.blob:
        with blobs.large(message.blob) as spool:
            yield spool
        return
    with Spool() as spool:
        spool.write(compression.decompress(message.content))
        yield spool


def between(account_id: int, low: str, high: str, limit: int) -> tuple[list[MessageSummary], str]:
    """Return messages from the position ``high`` back to ``low``, the newest first.

    They are ``limit`` at least, if there are as many. The second value is the position where the
    next page begins, empty at the end. Neither position needs to be that of a message.
    """
    items: list[SummaryItem] = []
    # What is older than the last item of a shard that has more is not complete yet
    complete_from = ""
    for shard in range(SHARDS):
        page = _summaries.query(
            "#pk = :pk AND #sk BETWEEN :low AND :high",
            {"pk": _partition(account_id, shard), "low": low, "high": high},
            newest_first=True,
            limit=limit,
        )
        items += page.items
        if page.next_key:
            complete_from = max(complete_from, page.items[-1]["sk"])
    complete = sorted(
        (item for item in items if item["sk"] >= complete_from),
        key=lambda item: item["sk"],
        reverse=True,
    )
    now = clock.now()
    summaries = [_from_summary(item) for item in complete if item["expires"] > now]
    return summaries, _before(complete_from) if complete_from else ""


def position_at(moment_ms: int) -> str:
    """Return the position before all messages of a time."""
    return f"{max(moment_ms, 0):013d}"


def position_after(moment_ms: int) -> str:
    """Return the position behind all messages of a time."""
    return position_at(moment_ms) + _END


def position_before(message: MessageSummary) -> str:
    """Return the position right before a message."""
    return _before(f"{message.received_ms:013d}#{message.id}")


def delete(message: ReceivedMessage) -> None:
    """Delete a message, with the line of the audit log; its object goes with its last recipient."""
    deletion: DeletionItem = {
        **_keyed(_deletion_key(message.id)),
        "expires": _expiry(message.received_ms),
    }
    item = _to_item(message)
    lines = audit.line(
        message.id,
        {"domain": message.domain, "rcpt_to": audit.Personal(message.rcpt_to)},
        None,
        resource=RESOURCE,
        subaccount_id=message.subaccount_id,
    )
    dynamo.transact(
        [
            dynamo.put(_deletions, deletion),
            dynamo.delete(_messages, *_key(message.id)),
            dynamo.delete(_summaries, *_summary_key(item)),
            *lines,
        ]
    )
    if message.blob and _deletions_of(message.id[:-2]) >= message.shares:
        blobs.delete(message.blob)


def is_deleted(message_id: str) -> bool:
    """Tell whether an SMTP message was deleted by a recipient, and no other one has it."""
    return _deletions_of(message_id) > 0


def to_or_from(
    scope: Scope, addresses: Iterable[str], batch: int = 1000
) -> Iterator[MessageSummary]:
    """Yield the messages of a scope to or from one of these addresses (in their one spelling)."""
    spellings = frozenset(addresses)
    high = position_after(clock.now_ms())
    while high:
        summaries, high = between(scope.account_id, position_at(0), high, batch)
        for summary in summaries:
            if scope.covers(summary.subaccount_id) and not spellings.isdisjoint(
                summary.addresses()
            ):
                yield summary


def _deletions_of(message_id: str) -> int:
    """Return how many recipients have deleted an SMTP message, 0 if another one still has it."""
    pk, _ = _key(f"{message_id}00")
    items = _messages.query_all("#pk = :pk", {"pk": pk}, consistent=True)
    places = [item["sk"].partition("/")[2] for item in items]
    return 0 if "message" in places else len(places)


def _key(message_id: str) -> Key:
    return f"received#{message_id[:-2]}", f"{message_id[-2:]}/message"


def _deletion_key(message_id: str) -> Key:
    return f"received#{message_id[:-2]}", f"{message_id[-2:]}/deleted"


def _partition(account_id: int, shard: int) -> str:
    return f"received#{account_id}/{shard}"


def _summary_key(item: SummaryFields) -> Key:
    # The digits after the time in an id are random
    shard = int(item["id"][12:16], 16) % SHARDS
    return _partition(item["account_id"], shard), f"{item['received_ms']:013d}#{item['id']}"


def _keyed(key: Key) -> Keyed:
    return {"pk": key[0], "sk": key[1]}


def _before(position: str) -> str:
    return position[:-1] + chr(ord(position[-1]) - 1) + _END


def _expiry(received_ms: int) -> int:
    return received_ms // 1000 + settings().received_mail_retention


def _to_item(message: ReceivedMessage) -> MessageItem:
    content, blob = message.content, message.blob
    if len(content) > _INLINE_BYTES:
        content, blob = b"", blob or PREFIX + message.id[:-2]
        if not message.blob:
            blobs.put(blob, compression.decompress(message.content))
    fields: dict[str, Any] = {name: getattr(message, name) for name in _FIELDS}
    fields |= {"content": content, "blob": blob}
    fields = {name: value for name, value in fields.items() if value not in ("", b"", None)}
    return cast(
        MessageItem,
        {
            **_keyed(_key(message.id)),
            **fields,
            "verdicts": json.dumps(message.verdicts, separators=(",", ":")),
            "expires": _expiry(message.received_ms),
        },
    )


def _from_item(item: MessageItem) -> ReceivedMessage:
    fields = attributes_of(item, _FIELDS) | {"verdicts": json.loads(item["verdicts"])}
    return ReceivedMessage(
        **{"subaccount_id": None, "mail_from": "", "helo": "", "tls": "", **fields}
    )


def _to_summary(item: MessageItem) -> SummaryItem:
    fields = attributes_of(item, (*_SUMMARY_FIELDS, "expires"))
    if subject := item.get("subject"):
        fields["subject"] = subject[:_LONGEST_SUBJECT]
    return cast(SummaryItem, {**_keyed(_summary_key(item)), **fields})


def _from_summary(item: SummaryItem) -> MessageSummary:
    fields = attributes_of(item, _SUMMARY_FIELDS)
    return MessageSummary(**{"subaccount_id": None, "mail_from": "", **fields})
