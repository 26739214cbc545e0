"""Consume the ``webhook-batches`` queue: post batches until their targets take them.

The batches of different webhooks are posted side by side, so no webhook waits for the target of
another.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait

from chalicelib.core import queues
from chalicelib.core.json_types import Json
from chalicelib.core.queue_event import BatchResponse, QueueEvent
from chalicelib.core.queues import Received
from chalicelib.webhook_dispatch import store
from chalicelib.webhook_dispatch.batch import QUEUE
from chalicelib.webhook_dispatch.batch_poster import BatchPoster
from chalicelib.webhook_dispatch.outcomes import HOLD, OutcomeRecorder
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
        unfinished += _post_side_by_side(by_webhook)
    return unfinished


def _post_side_by_side(by_webhook: Mapping[str, Sequence[Task]]) -> list[Received[Json]]:
    state = store.read(task.head for tasks in by_webhook.values() for task in tasks)
    recorder = OutcomeRecorder()
    unfinished: list[Received[Json]] = []
    with ThreadPoolExecutor(len(by_webhook)) as pool:
        runs = [pool.submit(_run, state, tasks, recorder) for tasks in by_webhook.values()]
        while wait(runs, timeout=HOLD).not_done:
            unfinished += recorder.flush()
    for run in runs:
        unfinished += run.result()
    return unfinished + recorder.flush()


def _run(
    state: DispatchState, tasks: Sequence[Task], recorder: OutcomeRecorder
) -> list[Received[Json]]:
    """Post one webhook's batches; an error does not affect the batches of other webhooks."""
    try:
        return BatchPoster(state, tasks, recorder).run()
    except Exception:
        _log.exception("webhook %s: its batches are shown again", tasks[0].head.webhook_id)
        return [task.message for task in tasks]
