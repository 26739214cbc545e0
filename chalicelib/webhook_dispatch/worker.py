"""The consumer of the ``webhook-batches`` queue: batches are posted until they are taken.

The batches of one call go out side by side, those of one webhook in a lane of their own (``lane``),
so nobody waits for another's target.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from chalicelib.core import queues
from chalicelib.core.queues import Received
from chalicelib.webhook_dispatch import known
from chalicelib.webhook_dispatch.batch import QUEUE
from chalicelib.webhook_dispatch.batch_poster import BatchPoster
from chalicelib.webhook_dispatch.known import Known
from chalicelib.webhook_dispatch.task import Task, read_tasks

_log = logging.getLogger(__name__)


def post_batches(event: dict[str, Any]) -> dict[str, Any]:
    """Post the batches of one SQS batch; return those messages that failed, to be shown again."""
    return queues.consume(QUEUE, event, _post)


def _post(messages: Sequence[Received]) -> list[Received]:
    tasks, failed = read_tasks(messages)
    by_webhook: dict[str, list[Task]] = defaultdict(list)
    for task in tasks:
        by_webhook[task.head.webhook_id].append(task)
    if by_webhook:
        told = known.read(task.head for task in tasks)
        with ThreadPoolExecutor(len(by_webhook)) as pool:
            for unfinished in pool.map(lambda some: _run(told, some), by_webhook.values()):
                failed += unfinished
    return failed


def _run(told: Known, tasks: Sequence[Task]) -> list[Received]:
    """Post one webhook's batches; what goes wrong concerns nobody else's batches."""
    try:
        return BatchPoster(told, tasks).run()
    except Exception:
        _log.exception("webhook %s: its batches are shown again", tasks[0].head.webhook_id)
        return [task.message for task in tasks]
