"""Posting the batches of one webhook, as far as its target lets us.

A target that does not answer in good time is left alone for a while (``webhooks.state``): its
batches are put off untried, and when the pause is over one of them is tried before the others
follow. A batch whose time ends meanwhile waits for that as well: only what the target was found
not to answer is discarded untried.

What is not taken is queued again before the attempt is recorded: a crash between the two repeats
an attempt and loses nothing. A message whose attempt is on record is a duplicate and is dropped.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, Final

from chalicelib.core import clock
from chalicelib.core.concurrency import PerKeyLimit
from chalicelib.core.queues import Received
from chalicelib.core.retry import Backoff
from chalicelib.core.settings import settings
from chalicelib.webhook_dispatch import schedule
from chalicelib.webhook_dispatch.batch import Head
from chalicelib.webhook_dispatch.known import Known
from chalicelib.webhook_dispatch.task import Task
from chalicelib.webhooks import batches, circuit_breaker, posting
from chalicelib.webhooks.batches import Batch
from chalicelib.webhooks.model import Webhook
from chalicelib.webhooks.posting import Answer

_log = logging.getLogger(__name__)

#: Batches of one webhook that a call posts side by side
ABREAST: Final = 4
#: Seconds for which a call starts new posts
PATIENCE: Final = 5.0
#: Calls in this process that may post to the same webhook at a time: locally a process has several
#: threads for the queue, on Lambda it has one. A slow target must leave some to others.
_calls = PerKeyLimit(2)

#: A failure that takes longer than this (seconds) holds up others, so it earns its target a pause
_SLOW = 1.0
#: What is recorded of a batch whose time ended while its target was left alone
_UNTRIED = Answer(None, failure_code="ETIMEDOUT")


class BatchPoster:
    """The batches of one webhook in one call."""

    def __init__(self, told: Known, tasks: Sequence[Task]) -> None:
        self._webhook_id = tasks[0].head.webhook_id
        self._webhook = told.webhooks.get(self._webhook_id)
        self._state = told.states[self._webhook_id]
        self._batches = told.batches
        self._tasks = tasks
        self._stop_at = time.monotonic() + PATIENCE
        self._taken = self._refused = False
        self._paused_until = 0.0

    def run(self) -> list[Received]:
        """Post, put off or drop each batch; return the messages of those for which that failed."""
        if self._webhook is None:
            _log.error("webhook %s is gone: its batches are dropped", self._webhook_id)
            return []
        with _calls.place(self._webhook_id) as has_place:
            if not has_place:
                return self._put_off_all(self._tasks)
            failed = (
                self._post_after_pause(self._webhook)
                if self._state.unanswered
                else self._post_abreast(self._webhook, self._tasks)
            )
            self._note()
            return failed

    def _post_after_pause(self, webhook: Webhook) -> list[Received]:
        """Try one batch when the pause is over, and the others only if the target answers again."""
        now = clock.now()
        until = self._state.paused_until_ms / 1000
        lease = now + _lease()
        if now < until or not circuit_breaker.claim_probe(
            webhook.id, self._state, int(lease * 1000)
        ):
            return self._put_off_all(self._tasks, until)
        first, *others = self._tasks
        return _unfinished(first, self._post, webhook) + self._post_abreast(webhook, others)

    def _post_abreast(self, webhook: Webhook, tasks: Sequence[Task]) -> list[Received]:
        def post(task: Task) -> list[Received]:
            if self._paused_until or time.monotonic() > self._stop_at:
                return self._put_off_all([task], self._paused_until)
            return _unfinished(task, self._post, webhook)

        if len(tasks) < 2:  # the usual case needs no threads
            return [name for task in tasks for name in post(task)]
        with ThreadPoolExecutor(ABREAST) as pool:
            return [name for failed in pool.map(post, tasks) for name in failed]

    def _post(self, task: Task, webhook: Webhook) -> None:
        head, recorded = task.head, self._batches.get(task.head.batch_id)
        if recorded and _is_over(recorded, head):
            return
        body = task.message.payload()
        began = time.monotonic()
        answer = posting.post(webhook, head.batch_id, body)
        if answer.is_taken:
            self._taken = True
        else:
            self._refuse(time.monotonic() - began)
            _queue_again(task, answer)
        batches.record(_attempted(head, answer), None if recorded else body)

    def _refuse(self, took: float) -> None:
        self._refused = True
        if took >= _SLOW:
            backoff = Backoff(2 * took, cap_seconds=settings().webhook_pause)
            self._paused_until = clock.now() + backoff.delay(self._state.unanswered + 1)

    def _note(self) -> None:
        """Note once for all batches of the lane how the target answered.

        They are accounted for: that this fails must not show their messages again.
        """
        try:
            self._note_answers()
        except Exception:
            _log.exception("the state of webhook %s was not noted", self._webhook_id)

    def _note_answers(self) -> None:
        webhook_id, known, now_ms = self._webhook_id, self._state, clock.now_ms()
        if self._taken:
            circuit_breaker.note_success(webhook_id, known, now_ms)
        if self._paused_until and not self._taken:
            circuit_breaker.pause(webhook_id, known, now_ms, int(self._paused_until * 1000))
        elif self._refused:
            circuit_breaker.note_failure(webhook_id, known, now_ms)

    def _put_off_all(self, tasks: Sequence[Task], until: float = 0.0) -> list[Received]:
        """Queue batches again without an attempt, to be seen at a time or a little later."""
        return [name for task in tasks for name in _unfinished(task, self._put_off, until)]

    def _put_off(self, task: Task, until: float) -> None:
        head, now = task.head, clock.now()
        end = head.begun_ms / 1000 + settings().webhook_retry_expiry + _overtime()
        if now >= end:
            _log.warning("webhook %s: batch %s is discarded", head.webhook_id, head.batch_id)
            untried = replace(_attempted(head, _UNTRIED), attempts=head.attempts)
            body = None if head.batch_id in self._batches else task.message.payload()
            batches.record(untried, body)
            return
        backoff = Backoff(1.0, cap_seconds=settings().webhook_pause)
        wait = max(until - now, backoff.delay(head.waits + 1))
        task.send_again(replace(head, waits=head.waits + 1), min(wait, end - now))


def _lease() -> float:
    """Return the seconds for which whoever tries a target after its pause has it to itself."""
    return 2 * settings().webhook_timeout + 10


def _overtime() -> float:
    """Return the seconds by which a batch that is put off may outlive its time.

    Its time may end as a pause begins; what is tried when that is over shows how the target is.
    """
    return settings().webhook_pause + 2 * _lease()


def _unfinished(task: Task, step: Callable[[Task, Any], None], argument: Any) -> list[Received]:
    """Do a step of a task; return its message if that fails, to be shown again."""
    try:
        step(task, argument)
    except Exception:
        _log.exception("batch %s failed", task.head.batch_id)
        return [task.message]
    return []


def _queue_again(task: Task, answer: Answer) -> None:
    """Queue a batch that was not taken for its next attempt, if it has one."""
    head, now = task.head, clock.now()
    failed, elapsed = head.attempts + 1, now - head.begun_ms / 1000
    asked = schedule.asked_wait(answer.headers, now)
    wait = schedule.next_wait(failed, elapsed, head.batch_id, asked)
    if wait is None:
        _log.warning("webhook %s: batch %s is discarded", head.webhook_id, head.batch_id)
        return
    task.send_again(replace(head, attempts=failed, waits=0), wait)


def _is_over(recorded: Batch, head: Head) -> bool:
    """Tell whether the attempt of a message is on record, so that the message is a duplicate."""
    if recorded.round != head.round:
        return recorded.round > head.round
    return recorded.delivered or recorded.attempts > head.attempts


def _attempted(head: Head, answer: Answer) -> Batch:
    return Batch(
        webhook_id=head.webhook_id,
        batch_id=head.batch_id,
        size=head.size,
        at_ms=clock.now_ms(),
        attempts=head.attempts + (not answer.is_taken),
        response_code=answer.status,
        failure_code=answer.failure_code,
        latency=answer.latency,
        delivered=answer.is_taken,
        round=head.round,
    )
