"""Post the batches of one webhook behind its circuit breaker.

While the breaker is open, batches are queued again without a post. When it is half-open, one batch
is posted, and the others follow only if the target answers again. A batch whose retry time ends in
the meantime waits for that post as well, so that it is never discarded because of an old failure.

A batch that the target does not take is queued again before the attempt is recorded: a crash
between the two repeats an attempt and loses nothing. A message whose attempt is already on record
is a duplicate and is dropped.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, Final

from chalicelib.core import clock, shutdown
from chalicelib.core.concurrency import PerKeyLimit
from chalicelib.core.json_types import Json
from chalicelib.core.queues import Received
from chalicelib.core.retry import Backoff
from chalicelib.core.settings import settings
from chalicelib.webhook_dispatch import schedule
from chalicelib.webhook_dispatch.batch import BatchHead
from chalicelib.webhook_dispatch.batch_kind import GONE, BodyGone
from chalicelib.webhook_dispatch.outcomes import Outcome, OutcomeRecorder
from chalicelib.webhook_dispatch.store import DispatchState
from chalicelib.webhook_dispatch.task import Task
from chalicelib.webhooks import attempts, posting
from chalicelib.webhooks.circuit_breaker import CLOSED, OPEN, claim_seconds
from chalicelib.webhooks.model import Endpoint, WebhookBatch
from chalicelib.webhooks.posting import PostResult
from chalicelib.webhooks.store import circuit_breakers

_log = logging.getLogger(__name__)

#: Batches of one webhook that a call posts side by side
ABREAST: Final = 4
#: Seconds for which a call starts new posts
PATIENCE: Final = 5.0
#: Calls in this process that may post to the same webhook at a time: locally a process has several
#: threads for the queue, on Lambda it has one. A slow target must leave some to others.
_calls = PerKeyLimit(2)

#: A failure that takes longer than this (seconds) holds up other batches, so it opens the breaker
_SLOW = 1.0
#  The result that is recorded for a batch that is discarded while the breaker is open
_NOT_POSTED = PostResult(
    None,
    failure_code="ETIMEDOUT",
    reason="not posted: the target did not answer other batches until the retry time was over",
)


#  The result that is recorded for a received message that is no longer stored
_GONE = PostResult(None, failure_code=GONE, reason="the message is no longer stored")


class BatchPoster:
    """Posts the batches of one webhook that one call of the consumer has."""

    def __init__(
        self, state: DispatchState, tasks: Sequence[Task], recorder: OutcomeRecorder
    ) -> None:
        self._webhook_id = tasks[0].head.webhook_id
        self._webhook = state.endpoints.get(self._webhook_id)
        self._breaker = state.breakers[self._webhook_id]
        self._batches = state.batches
        self._tasks = tasks
        self._kind = tasks[0].kind
        self._recorder = recorder
        self._stop_at = time.monotonic() + PATIENCE
        self._succeeded = self._failed = False
        self._open_until = 0.0

    def run(self) -> list[Received[Json]]:
        """Post, postpone or drop each batch; return the messages for which that failed."""
        if self._webhook is None:
            _log.error("webhook %s is gone: its batches are dropped", self._webhook_id)
            return []
        with _calls.place(self._webhook_id) as has_place:
            if not has_place or shutdown.is_requested():
                return self._postpone_all(self._tasks)
            unfinished = (
                self._post_all(self._webhook, self._tasks)
                if self._breaker.state(clock.now()) == CLOSED
                else self._post_half_open(self._webhook)
            )
            self._update_breaker()
            return unfinished

    def _post_half_open(self, webhook: Endpoint) -> list[Received[Json]]:
        """Post one batch if the breaker is half-open, and the others if the target answers again.

        Of several workers one posts; to the others the breaker is open.
        """
        now = clock.now()
        lease_until_ms = int((now + claim_seconds()) * 1000)
        if self._breaker.state(now) == OPEN or not circuit_breakers.claim_half_open(
            webhook.id, self._breaker, lease_until_ms
        ):
            return self._postpone_all(self._tasks, self._breaker.open_until_ms / 1000)
        first, *others = self._tasks
        return _unfinished(first, self._post, webhook) + self._post_all(webhook, others)

    def _post_all(self, webhook: Endpoint, tasks: Sequence[Task]) -> list[Received[Json]]:
        """Post batches side by side until one opens the breaker or the call's time is over.

        A process that is to end begins no post: it queues the batches again.
        """

        def post(task: Task) -> list[Received[Json]]:
            is_late = time.monotonic() > self._stop_at or shutdown.is_requested()
            if self._open_until or is_late:
                return self._postpone_all([task], self._open_until)
            return _unfinished(task, self._post, webhook)

        if len(tasks) < 2:  # the usual case needs no threads
            return [message for task in tasks for message in post(task)]
        with ThreadPoolExecutor(ABREAST) as pool:
            return [message for messages in pool.map(post, tasks) for message in messages]

    def _post(self, task: Task, webhook: Endpoint) -> None:
        head, record = task.head, self._batches.get(task.head.batch_id)
        if record and _is_duplicate(record, head):
            return
        try:
            with self._kind.body(task.message, head) as body:
                started = time.monotonic()
                result = posting.post(webhook, head.batch_id, body)
                took = time.monotonic() - started
        except BodyGone:
            self._record(task, _GONE, None, is_over=True)
            return
        is_over = True
        if result.is_accepted:
            self._succeeded = True
        else:
            self._fail(took)
            is_over = not _queue_again(task, result)
        self._record(task, result, body if isinstance(body, bytes) else None, is_over=is_over)

    def _record(self, task: Task, result: PostResult, body: bytes | None, *, is_over: bool) -> None:
        """Record an attempt, and the bytes that were posted unless they are on record."""
        head, record = task.head, self._batches.get(task.head.batch_id)
        batch = _after_attempt(head, record, result)
        if result is _NOT_POSTED:
            batch = replace(batch, attempts=head.all_attempts)
        stored_body = body if self._kind.stores_body and not record else None
        events = self._kind.events(head, result, is_over=is_over)
        self._recorder.add(Outcome(task, batch, stored_body, events, is_new=not record))

    def _fail(self, took: float) -> None:
        self._failed = True
        if took >= _SLOW:
            self._open_until = clock.now() + self._breaker.open_seconds(took)

    def _update_breaker(self) -> None:
        """Store once, for all batches of the call, how the target answered.

        Each batch is finished by now, so an error here must not make SQS show its message again.
        """
        try:
            self._store_breaker()
        except Exception:
            _log.exception("the circuit breaker of webhook %s was not stored", self._webhook_id)

    def _store_breaker(self) -> None:
        webhook_id, breaker, now_ms = self._webhook_id, self._breaker, clock.now_ms()
        if self._succeeded:
            circuit_breakers.record_success(webhook_id, breaker, now_ms)
        if self._open_until and not self._succeeded:
            open_until_ms = int(self._open_until * 1000)
            circuit_breakers.open_until(webhook_id, breaker, now_ms, open_until_ms)
        elif self._failed:
            circuit_breakers.record_failure(webhook_id, breaker, now_ms)

    def _postpone_all(self, tasks: Sequence[Task], until: float = 0.0) -> list[Received[Json]]:
        """Queue batches again without a post, to be shown at ``until`` or a little later."""
        return [message for task in tasks for message in _unfinished(task, self._postpone, until)]

    def _postpone(self, task: Task, until: float) -> None:
        head, now = task.head, clock.now()
        end = head.begun_ms / 1000 + self._kind.schedule().expiry + _overtime()
        if now >= end:
            _log.warning("webhook %s: batch %s is discarded", head.webhook_id, head.batch_id)
            body = task.message.payload() if self._kind.stores_body else None
            self._record(task, _NOT_POSTED, body, is_over=True)
            return
        backoff = Backoff(1.0, cap_seconds=settings().webhook_pause)
        wait = max(until - now, backoff.delay(head.waits + 1))
        task.send_again(replace(head, waits=head.waits + 1), min(wait, end - now))


def _overtime() -> float:
    """Return for how many seconds a postponed batch may outlive its retry time.

    Its time may end just as the breaker opens; the post in the half-open state then decides.
    """
    return settings().webhook_pause + 2 * claim_seconds()


def _unfinished(
    task: Task, step: Callable[[Task, Any], None], argument: Any
) -> list[Received[Json]]:
    """Do a step of a task; return its message if that fails, so that SQS shows it again."""
    try:
        step(task, argument)
    except Exception:
        _log.exception("batch %s failed", task.head.batch_id)
        return [task.message]
    return []


def _queue_again(task: Task, result: PostResult) -> bool:
    """Queue a batch that the target did not take for its next attempt; tell if it has one."""
    head, now = task.head, clock.now()
    attempts, elapsed = head.attempts + 1, now - head.begun_ms / 1000
    retry_after = schedule.retry_after(result.headers, now)
    wait = task.kind.schedule().next_wait(attempts, elapsed, head.batch_id, retry_after)
    if wait is None:
        _log.warning("webhook %s: batch %s is discarded", head.webhook_id, head.batch_id)
        return False
    task.send_again(replace(head, attempts=attempts, waits=0), wait)
    return True


def _is_duplicate(record: WebhookBatch, head: BatchHead) -> bool:
    """Tell whether the attempt that a message asks for is already on record."""
    if record.round != head.round:
        return record.round > head.round
    return record.delivered or record.attempts > head.all_attempts


def _after_attempt(
    head: BatchHead, record: WebhookBatch | None, result: PostResult
) -> WebhookBatch:
    """Return what is recorded after an attempt; ``record`` is what was recorded before it."""
    return WebhookBatch(
        webhook_id=head.webhook_id,
        batch_id=head.batch_id,
        size=head.size,
        at_ms=clock.now_ms(),
        attempts=head.all_attempts + (not result.is_accepted),
        response_code=result.status,
        failure_code=result.failure_code,
        latency=result.latency,
        delivered=result.is_accepted,
        round=head.round,
        answer=result.answer,
        earlier=attempts.pack(attempts.history(record)) if record else b"",
    )
