"""Consume the ``webhook-events`` queue: merge the events of many messages into few batches.

SQS collects messages for ``WEBHOOK_WINDOW`` before it calls the consumer.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from chalicelib.core import queues
from chalicelib.core.queue_event import BatchResponse, QueueEvent
from chalicelib.core.queues import Received
from chalicelib.webhook_dispatch import collect
from chalicelib.webhook_dispatch.batch import QUEUE
from chalicelib.webhook_dispatch.collect import SelectionHead
from chalicelib.webhook_dispatch.event_batches import batches_of

#: An account and one of its webhooks
Key = tuple[int, str]

#: Bytes after which batches are sent: a thousand messages of large events do not fit into memory
_MOST_BYTES_MERGED = 64_000_000


def merge_events(event: QueueEvent) -> BatchResponse:
    """Cut the events of one SQS batch into webhooks' batches; return those that failed."""
    return queues.consume(collect.QUEUE, event, queues.all_together(_merge))


def _merge(messages: list[Received[SelectionHead]]) -> None:
    # A dictionary for its keys: an event that was recorded twice is posted once if both meet here
    elements_by_webhook: dict[Key, dict[bytes, None]] = defaultdict(dict)
    latest: dict[Key, int] = defaultdict(int)
    size = 0
    for message in messages:
        for account_id, webhook_id, elements in collect.read(message):
            key = (account_id, webhook_id)
            elements_by_webhook[key].update(dict.fromkeys(elements))
            latest[key] = max(latest[key], message.head["at"])
            size += sum(map(len, elements))
        if size >= _MOST_BYTES_MERGED:
            _send(elements_by_webhook, latest)
            elements_by_webhook.clear()
            size = 0
    _send(elements_by_webhook, latest)


def _send(elements_by_webhook: Mapping[Key, Iterable[bytes]], latest: Mapping[Key, int]) -> None:
    works = (
        work
        for key, elements in elements_by_webhook.items()
        for work in batches_of(*key, list(elements), latest[key])
    )
    queues.send(QUEUE, works)
