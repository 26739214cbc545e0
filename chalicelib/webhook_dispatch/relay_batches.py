"""Received messages that are posted to relay webhooks: one is one batch.

The id of the batch is that of the message (``relay_id``). A small body travels in the queue
message; a larger one is made again for each attempt, of the received message, which is stored for
ten days. Either way it is the same, byte for byte.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, ClassVar, Final

from chalicelib.core import blobs, clock
from chalicelib.core.dynamo import AnyItem, Key
from chalicelib.core.json_types import Json
from chalicelib.core.message_event import Event
from chalicelib.core.queues import Received, Work
from chalicelib.core.settings import settings
from chalicelib.core.spool import Body, Octets, Spool
from chalicelib.received_mail import parsing
from chalicelib.received_mail import store as received_mail
from chalicelib.received_mail.model import ParsedMessage, ReceivedMessage
from chalicelib.relay_webhooks import store as relay_webhooks
from chalicelib.relaying import payload, relay_events
from chalicelib.relaying.relay_events import AttemptKind
from chalicelib.webhook_dispatch.batch import BatchHead
from chalicelib.webhook_dispatch.batch_kind import GONE, BatchKind, BodyGone
from chalicelib.webhook_dispatch.schedule import Schedule
from chalicelib.webhooks.model import Endpoint
from chalicelib.webhooks.posting import PostResult

#: The largest body that travels in the queue: compressed, none of this size needs the bucket
MOST_IN_QUEUE: Final = 128 * 1024

#: Bodies are made one at a time, because making one maps the whole raw message into memory
_making = threading.Lock()


class RelayBatches(BatchKind):
    """Received messages, which relay webhooks get: bytes can be made again, outcomes are events."""

    stores_body: ClassVar[bool] = False
    has_events: ClassVar[bool] = True

    def schedule(self) -> Schedule:
        """Return the schedule of relay webhooks."""
        return Schedule(
            settings().relay_webhook_retry_base,
            settings().relay_webhook_attempts,
            settings().relay_webhook_retry_expiry,
        )

    def retention(self) -> int:
        """Return ten days, by default, as of the message that a batch is made of."""
        return settings().received_mail_retention

    def endpoint_key(self, account_id: int, endpoint_id: str) -> Key:
        """Return the key of a relay webhook."""
        return relay_webhooks.key_of(account_id, endpoint_id)

    def endpoint(self, item: AnyItem) -> Endpoint:
        """Return the relay webhook in an item."""
        webhook: Any = item
        return relay_webhooks.from_item(webhook)

    @contextmanager
    def body(self, message: Received[Json], head: BatchHead) -> Iterator[Body]:
        """Return the payload of the queue message, or the body made of the received message.

        What has been deleted since the first post is not posted again, though the queue has it.
        """
        if message.has_payload:
            if head.all_attempts:
                _stored(head)
            yield message.payload()
            return
        with body_of(_stored(head)) as body:
            yield body

    def events(self, head: BatchHead, result: PostResult, *, is_over: bool) -> Sequence[Event]:
        """Return the event that tells of an attempt."""
        if head.relay is None:
            return ()
        kind = _event_type(result, is_over=is_over)
        reason = "" if result.is_accepted else _reason(result)
        number, relay = head.post_number, head.relay
        if result.failure_code == GONE:
            relay = {**relay, "msg_from": ""}  # it may have been deleted for its sender
        return [relay_events.attempt(kind, relay, clock.now_ms(), number, reason)]

    def work_again(self, head: BatchHead, body: bytes | None) -> Work[Json]:
        """Return a message without a body: it is made when it is posted."""
        again = replace(head, relay=relay_events.fields_of(_stored(head)))
        return Work(again.as_json(), tenant=head.account_id)


def work_of(message: ReceivedMessage, parsed: ParsedMessage, octets: Octets) -> Work[Json]:
    """Return the queue message that posts a received message to its relay webhook.

    The message must be stored before this is queued (``batch.QUEUE``). Its retry time begins now:
    it may have waited for long to be read.
    """
    head = BatchHead(
        message.account_id,
        message.webhook_id,
        message.id,
        1,
        clock.now_ms(),
        relay=relay_events.fields_of(message),
    )
    return Work(head.as_json(), _small_body(message, parsed, octets), tenant=message.account_id)


@contextmanager
def body_of(message: ReceivedMessage) -> Iterator[Spool]:
    """Return what is posted for a stored message, for the block; raises :class:`BodyGone`."""
    try:
        with _making, received_mail.raw(message) as raw:
            octets = raw.octets()
            body = payload.build(message, parsing.read(octets), octets)
    except blobs.BlobMissing:  # it has just been deleted
        raise BodyGone(message.id) from None
    with body:
        yield body


def _stored(head: BatchHead) -> ReceivedMessage:
    message = received_mail.get(head.account_id, head.batch_id)
    if message is None:
        raise BodyGone(head.batch_id)
    return message


def _small_body(message: ReceivedMessage, parsed: ParsedMessage, octets: Octets) -> bytes:
    """Return the body if it is small enough for the queue, else nothing."""
    if len(octets) > MOST_IN_QUEUE:
        return b""
    with payload.build(message, parsed, octets) as body:
        return b"" if body.size > MOST_IN_QUEUE else body.octets()[:]


def _event_type(result: PostResult, *, is_over: bool) -> AttemptKind:
    if result.is_accepted:
        return "relay_delivery"
    return "relay_permfail" if is_over else "relay_tempfail"


def _reason(result: PostResult) -> str:
    """Return why a target did not take a message, without what it answered: that may be secret."""
    if result.status is None:
        return f"{result.failure_code}: {result.reason}"
    return f"{result.status} was the answer of the target"
