"""Batches of events: cut them, and post them to webhooks.

A batch id begins with the time, so that ids grow, and ends with a digest of webhook and body, so
that the same events at the same time make the same batch again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar, Final

from chalicelib.core.dynamo import AnyItem, Key
from chalicelib.core.json_types import Json
from chalicelib.core.message_event import Event
from chalicelib.core.queues import Received, Work
from chalicelib.core.settings import settings
from chalicelib.core.spool import Body
from chalicelib.webhook_dispatch.batch import BatchHead
from chalicelib.webhook_dispatch.batch_kind import BatchKind, BodyGone
from chalicelib.webhook_dispatch.schedule import Schedule
from chalicelib.webhooks import payload
from chalicelib.webhooks.model import Endpoint
from chalicelib.webhooks.posting import PostResult
from chalicelib.webhooks.store import webhooks as webhook_store

MOST_EVENTS: Final = 350
#  The largest body that common servers accept by default (1 MiB), less a margin
MOST_BYTES: Final = 1_000_000


class EventBatches(BatchKind):
    """Batches of events, which webhooks get: their bytes are stored, and they make no events."""

    stores_body: ClassVar[bool] = True
    has_events: ClassVar[bool] = False

    def schedule(self) -> Schedule:
        """Return the schedule of spec 6.3."""
        return Schedule(
            settings().webhook_retry_base,
            settings().webhook_attempts,
            settings().webhook_retry_expiry,
        )

    def retention(self) -> int:
        """Return a day, by default (spec 6.4)."""
        return settings().webhook_batch_retention

    def endpoint_key(self, account_id: int, endpoint_id: str) -> Key:
        """Return the key of a webhook."""
        return webhook_store.key_of(account_id, endpoint_id)

    def endpoint(self, item: AnyItem) -> Endpoint:
        """Return the webhook in an item."""
        webhook: Any = item
        return webhook_store.from_item(webhook)

    def body(self, message: Received[Json], head: BatchHead) -> AbstractContextManager[Body]:
        """Return the payload of the queue message."""
        return nullcontext(message.payload())

    def events(self, head: BatchHead, result: PostResult, *, is_over: bool) -> Sequence[Event]:
        """Return nothing."""
        return ()

    def work_again(self, head: BatchHead, body: bytes | None) -> Work[Json]:
        """Return a message with the bytes that the record holds."""
        if body is None:
            raise BodyGone(head.batch_id)
        return Work(head.as_json(), body)


def batches_of(
    account_id: int, webhook_id: str, elements: Sequence[bytes], at_ms: int
) -> Iterator[Work[Json]]:
    """Yield the messages of the batches that these events fill; ``at_ms`` is when the last came."""
    for part in _cut(elements):
        body = payload.batch(part)
        digest = hashlib.sha256(f"{webhook_id}\0".encode() + body).hexdigest()
        batch_id = f"{at_ms:012x}{digest[:20]}"
        head = BatchHead(account_id, webhook_id, batch_id, len(part), at_ms)
        yield Work(head.as_json(), body, tenant=account_id)


def _cut(elements: Sequence[bytes]) -> Iterator[list[bytes]]:
    part: list[bytes] = []
    size = 0
    for element in elements:
        if part and (len(part) == MOST_EVENTS or size + len(element) > MOST_BYTES):
            yield part
            part, size = [], 0
        part.append(element)
        size += len(element) + 1
    if part:
        yield part
