"""The consumer of the ``webhook-events`` queue: events of many messages become few batches.

The queue waits ``WEBHOOK_WINDOW`` for messages to come together; all that arrived by then goes out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from chalicelib.core import queues
from chalicelib.core.queues import Received
from chalicelib.webhook_dispatch import batch, collect

#: An account and one of its webhooks
Key = tuple[int, str]

#: When so much is gathered it goes out first: a thousand messages of large events fit no memory
_MOST_BYTES_HELD = 64_000_000


def merge_events(event: dict[str, Any]) -> dict[str, Any]:
    """Cut the events of one SQS batch into webhooks' batches; return those that failed."""
    return queues.consume(collect.QUEUE, event, queues.all_together(_merge))


def _merge(messages: list[Received]) -> None:
    # A dictionary for its keys: what was recorded twice is posted once, if it comes together
    gathered: dict[Key, dict[bytes, None]] = defaultdict(dict)
    latest: dict[Key, int] = defaultdict(int)
    size = 0
    for message in messages:
        for account_id, webhook_id, elements in collect.read(message):
            key = (account_id, webhook_id)
            gathered[key].update(dict.fromkeys(elements))
            latest[key] = max(latest[key], message.head["at"])
            size += sum(map(len, elements))
        if size >= _MOST_BYTES_HELD:
            _send(gathered, latest)
            gathered.clear()
            size = 0
    _send(gathered, latest)


def _send(gathered: Mapping[Key, Iterable[bytes]], latest: Mapping[Key, int]) -> None:
    works = (
        work
        for key, elements in gathered.items()
        for work in batch.batches_of(*key, list(elements), latest[key])
    )
    queues.send(batch.QUEUE, works)
