"""Send and consume queue messages: a small readable head and a compressed payload.

- SQS takes 256 KiB a message and a batch. A larger payload travels as an object under ``queue/``,
  which the message names. SQS may deliver any message again, so the payload cannot be deleted on
  receipt; the bucket's lifecycle removes it when no queue can hold the message any more.
- SQS delays a message by at most 15 minutes. A message that waits for longer carries the ``rest``
  of its seconds and is sent on until none is left. No clock is read for that, so a clock that is
  set back delays nothing. Only a message for a certain time has ``not_before`` in its head.
- SQS delivers at least once: a consumer must be able to handle any message twice.
- A message names its tenant, so that SQS can deliver the messages of others ahead of a tenant's
  backlog (fair queues: ``MessageGroupId`` on standard queues changes nothing else).
"""

from __future__ import annotations

import base64
import json
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Generic, TypeVar
from uuid import uuid4

from chalicelib.core import aws, blobs, caches, clock, compression
from chalicelib.core.json_types import Json
from chalicelib.core.queue_event import BatchResponse, QueueEvent
from chalicelib.core.settings import settings
from chalicelib.core.spool import PIECE, Spool

T = TypeVar("T")
Head = TypeVar("Head", bound=Mapping[str, Any], covariant=True)

_log = logging.getLogger(__name__)

#: The address of the stage's queues without their names, once a request has told it
_place: list[str] = []

BATCH_ENTRIES = 10
BATCH_BYTES = 256 * 1024
LONGEST_DELAY = 900
# A message that waits for longer than any queue keeps it is none of this service
_LONGEST_REST = 14 * 86_400


class MalformedMessage(ValueError):
    """A queue message that no part of this service sends."""


@dataclass(frozen=True, slots=True)
class Work(Generic[Head]):
    """One message to send: ``head`` is readable JSON, ``payload`` bytes are compressed.

    A payload that may be large comes in pieces, which are not joined.

    The queue's module gives its heads a ``TypedDict``, which writers and readers share.

    ``tenant`` is the account whose work it is, 0 for work of several accounts.
    """

    head: Head
    payload: bytes | Sequence[bytes] = b""
    delay: float = 0.0
    tenant: int = 0

    @property
    def payload_size(self) -> int:
        """Return the number of bytes of the payload."""
        return sum(map(len, _pieces(self.payload)))


@dataclass(frozen=True, slots=True)
class Received(Generic[Head]):
    """One message received; ``id`` is its SQS message id. :meth:`payload` fetches the payload.

    ``receives`` counts how often it was received, this time included.
    """

    head: Head
    _inline: str = ""
    _blob: str = ""
    id: str = ""
    _tenant: str = ""
    rest: float = 0.0
    receives: int = 1

    @property
    def has_payload(self) -> bool:
        """Tell whether there is a payload."""
        return bool(self._inline or self._blob)

    def payload(self) -> bytes:
        """Return the payload; raises :class:`blobs.BlobMissing` if its object has expired."""
        if not self._blob:
            return compression.decompress(base64.b64decode(self._inline))
        with blobs.pieces(self._blob) as pieces:
            return compression.decompress_pieces(pieces)

    def delayed(self, delay: float) -> _Entry:
        """Return the same message, to be seen again after ``delay`` seconds."""
        body = _body(self.head, self._inline, self._blob, delay)
        return _Entry(body, _whole_seconds(delay), self._tenant)


@dataclass(frozen=True, slots=True)
class _Entry:
    body: str
    delay: int = 0
    tenant: str = ""

    def parameters(self) -> Any:
        """Return the parameters that ``SendMessage`` and ``SendMessageBatch`` share."""
        group = {"MessageGroupId": self.tenant} if self.tenant else {}
        return {"MessageBody": self.body, "DelaySeconds": self.delay, **group}


def _body(head: Mapping[str, Any], inline: str, blob: str, delay: float) -> str:
    payload = {"blob": blob} if blob else {"payload": inline} if inline else {}
    message: Json = {"head": head, **payload}
    if delay > LONGEST_DELAY:
        message["rest"] = delay - LONGEST_DELAY
    return json.dumps(message, separators=(",", ":"))


def _whole_seconds(delay: float) -> int:
    return min(LONGEST_DELAY, max(0, -int(-delay // 1)))


def _pack(queue: str, work: Work[Any]) -> _Entry:
    inline, blob = "", ""
    if work.payload_size:
        with Spool() as compressed:
            for piece in _compressed(_pieces(work.payload)):
                compressed.write(piece)
            if compressed.size > settings().queue_inline_bytes:
                blob = f"queue/{queue}/{uuid4().hex}"
                blobs.put_large(blob, compressed.octets())
            else:
                inline = base64.b64encode(compressed.octets()).decode()
    tenant = str(work.tenant) if work.tenant else ""
    return _Entry(_body(work.head, inline, blob, work.delay), _whole_seconds(work.delay), tenant)


def _pieces(payload: bytes | Sequence[bytes]) -> Sequence[bytes]:
    return (payload,) if isinstance(payload, bytes) else payload


def _compressed(payload: Sequence[bytes]) -> Iterable[bytes]:
    """Yield a payload compressed; one call for the whole is faster where it is small."""
    if sum(map(len, payload)) > PIECE:
        return compression.compress_pieces(payload)
    return (compression.compress(b"".join(payload)),)


def _url(queue: str) -> str:
    """Return the address of a queue: those of a stage differ in their names only."""
    name = settings().queue(queue)
    if not _place:
        url = aws.sqs().get_queue_url(QueueName=name)["QueueUrl"]
        _place.append(url.removesuffix(name))
    return _place[0] + name


@cache
def exists(queue: str) -> bool:
    """Tell whether there is a queue, as this process saw when it first asked."""
    try:
        aws.sqs().get_queue_url(QueueName=settings().queue(queue))
    except aws.sqs().exceptions.QueueDoesNotExist:
        return False
    return True


@caches.register
def clear_cache() -> None:
    """Forget where the queues are (tests switch endpoints)."""
    _place.clear()
    exists.cache_clear()


def send(queue: str, works: Iterable[Work[Any]]) -> None:
    """Put messages on ``queue``, as many to a request as fit; raises if SQS refuses any."""
    _send_entries(queue, (_pack(queue, work) for work in works))


def send_again(queue: str, message: Received[Any], delay: float) -> None:
    """Put a received message back on ``queue`` to be seen after ``delay`` seconds."""
    _send_entries(queue, [message.delayed(delay)])


def _send_entries(queue: str, entries: Iterable[_Entry]) -> None:
    batch: list[_Entry] = []
    size = 0
    for entry in entries:
        if batch and (len(batch) == BATCH_ENTRIES or size + len(entry.body) > BATCH_BYTES):
            _send_batch(queue, batch)
            batch, size = [], 0
        batch.append(entry)
        size += len(entry.body)
    if batch:
        _send_batch(queue, batch)


def _send_batch(queue: str, batch: Sequence[_Entry]) -> None:
    if len(batch) == 1:
        aws.sqs().send_message(QueueUrl=_url(queue), **batch[0].parameters())
        return
    pending: list[Any] = [{"Id": str(i), **entry.parameters()} for i, entry in enumerate(batch)]
    for _ in range(3):
        failed = aws.sqs().send_message_batch(QueueUrl=_url(queue), Entries=pending).get("Failed")
        if not failed:
            return
        ids = {failure["Id"] for failure in failed}
        pending = [entry for entry in pending if entry["Id"] in ids]
    raise aws.Overloaded(f"{queue}: {len(pending)} messages were not taken: {failed}")


def read(body: str, message_id: str = "", tenant: str = "", receives: int = 1) -> Received[Any]:
    """Read a queue message; raises :class:`MalformedMessage`.

    ``tenant`` is its ``MessageGroupId``, which it keeps when it is sent again; ``receives`` is its
    ``ApproximateReceiveCount``.
    """
    try:
        message = json.loads(body)
    except ValueError as error:
        raise MalformedMessage(str(error)) from None
    if not isinstance(message, dict) or not isinstance(message.get("head"), dict):
        raise MalformedMessage("no head")
    inline, blob = message.get("payload", ""), message.get("blob", "")
    if not isinstance(inline, str) or not isinstance(blob, str):
        raise MalformedMessage("the payload is not text")
    rest = message.get("rest", 0.0)
    if not isinstance(rest, int | float) or not 0 <= rest <= _LONGEST_REST:
        raise MalformedMessage("the rest of the delay is not a number of seconds")
    return Received(message["head"], inline, blob, message_id, tenant, rest, receives)


Handler = Callable[[Sequence[Received[Any]]], Sequence[Received[Any]]]
"""Handles messages and returns those that failed, for SQS to show again."""


def consume(queue: str, event: QueueEvent, handle: Handler) -> BatchResponse:
    """Hand the messages of an SQS event to ``handle``; return Lambda's partial batch response.

    A message that cannot be read fails alone, and one that still has to wait is sent on.
    A message that keeps failing ends in the queue's dead-letter queue.
    """
    failed: list[str] = []
    messages: list[Received[Any]] = []
    for record in event["Records"]:
        try:
            attributes = record.get("attributes", {})
            message = read(
                record["body"],
                record["messageId"],
                attributes.get("MessageGroupId", ""),
                int(attributes.get("ApproximateReceiveCount", 1)),
            )
            if not _postponed(queue, message):
                messages.append(message)
        except Exception:
            _log.exception("message %s was not read", record["messageId"])
            failed.append(record["messageId"])
    if messages:
        failed += [message.id for message in handle(messages)]
    return {"batchItemFailures": [{"itemIdentifier": name} for name in failed]}


def one_by_one(handle: Callable[[Received[Any]], None]) -> Handler:
    """Return a handler that calls ``handle`` with each message; one fails if its call raises."""
    return lambda messages: [each for each in messages if not _succeeds(handle, each, each.id)]


def all_together(handle: Callable[[list[Received[Any]]], None]) -> Handler:
    """Return a handler that makes one call for all messages, for work that is cheaper in bulk.

    If the call fails, each message is tried alone, so that one bad message fails alone.
    """

    def handle_all(messages: Sequence[Received[Any]]) -> Sequence[Received[Any]]:
        if _succeeds(handle, list(messages), f"one of {len(messages)}"):
            return []
        return [each for each in messages if not _succeeds(handle, [each], each.id)]

    return handle_all


def _postponed(queue: str, message: Received[Any]) -> bool:
    """Queue a message again if its delay is not over or its ``not_before`` has not come."""
    wait = message.rest or message.head.get("not_before", 0) - clock.now()
    if wait > 0:
        send_again(queue, message, wait)
    return bool(wait > 0)


def _succeeds(handle: Callable[[T], None], work: T, name: str) -> bool:
    try:
        handle(work)
    except Exception:
        _log.exception("message %s failed", name)
        return False
    return True
