"""Consume the ``webhook-batches`` queue: post batches until their targets take them.

The batches of different webhooks are posted side by side, so no webhook waits for the target of
another.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from chalicelib.core import queues
from chalicelib.core.json_types import Json
from chalicelib.core.queue_event import BatchResponse, QueueEvent
from chalicelib.core.queues import Received
from chalicelib.webhook_dispatch import store
from chalicelib.webhook_dispatch.batch import QUEUE
from chalicelib.webhook_dispatch.batch_poster import BatchPoster
from chalicelib.webhook_dispatch.store import DispatchState
from chalicelib.webhook_dispatch.task import Task, read_tasks

_log = logging.getLogger(__name__)


def post_batches(event: QueueEvent) -> BatchResponse:
    """Post the batches of one SQS batch; return the messages that failed, to be shown again."""
    return queues.consume(QUEUE, event, _post)


def _post(messages: Sequence[Received[Json]]) -> list[Received[Json]]:
    tasks, unfinished = read_tasks(messages)
    by_webhook: dict[str, list[Task]] = defaultdict(list)
    for task in tasks:
        by_webhook[task.head.webhook_id].append(task)
    if by_webhook:
        state = store.read(task.head for task in tasks)
        with ThreadPoolExecutor(len(by_webhook)) as pool:
            for messages_left in pool.map(lambda own: _run(state, own), by_webhook.values()):
                unfinished += messages_left
    return unfinished


def _run(state: DispatchState, tasks: Sequence[Task]) -> list[Received[Json]]:
    """Post one webhook's batches; an error does not affect the batches of other webhooks."""
    try:
        return BatchPoster(state, tasks).run()
    except Exception:
        _log.exception("webhook %s: its batches are shown again", tasks[0].head.webhook_id)
        return [task.message for task in tasks]
