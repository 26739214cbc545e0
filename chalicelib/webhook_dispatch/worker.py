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

from chalicelib.webhook_dispatch import known
from chalicelib.webhook_dispatch.batch_poster import BatchPoster
from chalicelib.webhook_dispatch.known import Known
from chalicelib.webhook_dispatch.task import Task, read_tasks

_log = logging.getLogger(__name__)


def post_batches(event: dict[str, Any]) -> dict[str, Any]:
    """Post the batches of one SQS batch; return those messages that failed, to be shown again."""
    tasks, failed = read_tasks(event["Records"])
    by_webhook: dict[str, list[Task]] = defaultdict(list)
    for task in tasks:
        if task.is_early:
            task.wait()
        else:
            by_webhook[task.head.webhook_id].append(task)
    if by_webhook:
        told = known.read(task.head for some in by_webhook.values() for task in some)
        with ThreadPoolExecutor(len(by_webhook)) as pool:
            for unfinished in pool.map(lambda some: _run(told, some), by_webhook.values()):
                failed += unfinished
    return {"batchItemFailures": [{"itemIdentifier": name} for name in failed]}


def _run(told: Known, tasks: Sequence[Task]) -> list[str]:
    """Run one webhook's lane; what goes wrong in it concerns nobody else's batches."""
    try:
        return BatchPoster(told, tasks).run()
    except Exception:
        _log.exception("webhook %s: its batches are shown again", tasks[0].head.webhook_id)
        return [task.record_id for task in tasks]
