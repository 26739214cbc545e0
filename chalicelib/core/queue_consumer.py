"""Consume one SQS queue as Lambda's event source mapping does on AWS, in a process that stays.

A thread polls the queue, passes what it receives to the handler as one SQS event, and deletes the
messages that the handler did not report as failed. A failed message becomes visible again after a
pause; the queue's own limit then moves it to the dead-letter queue. If the process crashes, its
messages stay hidden until their time-out ends. A process that stops queues messages anew that it
has received and not begun.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from chalicelib.core import aws, shutdown, timers
from chalicelib.core.json_types import Json
from chalicelib.core.lambda_events import Context, sqs_event
from chalicelib.core.queue_event import BatchResponse, QueueEvent
from chalicelib.core.settings import settings

log = logging.getLogger(__name__)

Handler = Callable[[QueueEvent, Any], BatchResponse | None]

# Messages to a call of a queue with a batching window; SQS hands out ten at a time.
MOST_GATHERED = 200
RECEIVE_BATCH = 10
LONG_POLL = 20
HAND_BACK_DELAY = 1
FIRST_PAUSE = 0.1
LONGEST_PAUSE = 1.0


@dataclass(frozen=True, slots=True)
class Polling:
    """How a queue is consumed. Times are seconds.

    ``batch_size`` is the most messages to a call, ``window`` how long the first of them waits for
    more. Without one, ``busy_window`` is how long it waits if it comes so soon after the call
    before: work that keeps coming is cheaper together. Messages in hand are hidden for
    ``visibility``, which is extended every ``heartbeat``.
    ``retry_pause`` tells when a failed message is received again; without it the handler, or else
    the time-out, decides. ``on_answer`` is called after each request that SQS has answered: for
    messages, or to keep them hidden.
    """

    batch_size: int
    visibility: int
    heartbeat: float
    window: float = 0.0
    busy_window: float = 0.0
    retry_pause: Callable[[Json], int] | None = None
    on_answer: Callable[[], None] = lambda: None


class Consumer:
    """One queue, its handler, and the thread that brings them together.

    ``receiver`` is a client that does not retry: the thread does, and sooner.
    """

    def __init__(self, queue: str, handler: Handler, receiver: Any, polling: Polling) -> None:
        self._queue = queue
        self._handler = handler
        self._receiver = receiver
        self._polling = polling
        self._client: Any = aws.sqs()
        self._url = ""
        self._is_behind = False
        self._ended = -math.inf
        self._working = threading.Lock()

    def start(self) -> None:
        """Poll in a thread of its own, for as long as the process lives."""
        threading.Thread(target=self._poll, name=self._queue, daemon=True).start()

    def finish(self) -> None:
        """Return when no batch is in hand; after a request to shut down no other begins."""
        self._working.acquire()
        self._working.release()

    def _poll(self) -> None:
        pause = FIRST_PAUSE
        while not shutdown.is_requested():
            try:
                self._consume_once()
                pause = FIRST_PAUSE
            except Exception as error:
                surprising = not isinstance(error, BotoCoreError | ClientError)
                log.warning("going on in %.1f s after: %s", pause, error, exc_info=surprising)
                time.sleep(pause)
                pause = min(LONGEST_PAUSE, pause * 2)

    def _consume_once(self) -> None:
        if not self._url:
            name = settings().queue(self._queue)
            self._url = self._receiver.get_queue_url(QueueName=name)["QueueUrl"]
        messages = self._received(self._polling.batch_size, LONG_POLL)
        self._polling.on_answer()
        if messages:
            with self._working:
                if shutdown.is_requested():
                    self._hand_back(messages)
                else:
                    self._consume([*messages, *self._later(messages)])
                    self._ended = time.monotonic()

    def _received(self, most: int, wait: int) -> list[Json]:
        return self._receiver.receive_message(
            QueueUrl=self._url,
            MaxNumberOfMessages=most,
            WaitTimeSeconds=wait,
            VisibilityTimeout=self._polling.visibility,
            MessageSystemAttributeNames=["All"],
            MessageAttributeNames=["All"],
        ).get("Messages", [])

    def _later(self, messages: Sequence[Json]) -> list[Json]:
        """Return what arrives within the batching window that ``messages`` open.

        While more has arrived than one call takes, there is nothing to wait for.
        """
        later: list[Json] = []
        if window := self._window():
            if not self._is_behind:
                with self._kept_hidden(messages):
                    time.sleep(window)
            while len(later) < MOST_GATHERED and (more := self._received(RECEIVE_BATCH, 0)):
                later += more
            self._is_behind = len(later) >= MOST_GATHERED
        return later

    def _window(self) -> float:
        """Return for how long the message that was received now waits for others."""
        if self._polling.window:
            return self._polling.window
        is_soon = time.monotonic() - self._ended < self._polling.busy_window
        return self._polling.busy_window if is_soon else 0.0

    def _consume(self, messages: Sequence[Json]) -> None:
        with self._kept_hidden(messages):
            failed = self._failures(messages)
        done = [message for message in messages if message["MessageId"] not in failed]
        for some in _tens(done):
            self._client.delete_message_batch(
                QueueUrl=self._url,
                Entries=[
                    {"Id": str(i), "ReceiptHandle": message["ReceiptHandle"]}
                    for i, message in enumerate(some)
                ],
            )
        if self._polling.retry_pause:
            for message in messages:
                if message["MessageId"] in failed:
                    self._show_again([message], self._polling.retry_pause(message))

    def _hand_back(self, messages: Sequence[Json]) -> None:
        """Queue messages anew, so that receiving them does not count as a try.

        The other threads that stop would receive them at once, and again and again.
        """
        for message in messages:
            request = {"MessageBody": message["Body"], "DelaySeconds": HAND_BACK_DELAY}
            if group := message.get("Attributes", {}).get("MessageGroupId"):
                request["MessageGroupId"] = group
            self._client.send_message(QueueUrl=self._url, **request)
            self._client.delete_message(QueueUrl=self._url, ReceiptHandle=message["ReceiptHandle"])

    def _failures(self, messages: Sequence[Json]) -> set[str]:
        """Call the handler; return the ids of the messages that it did not finish."""
        try:
            answer = self._handler(sqs_event(self._queue, messages), Context(self._queue))
            failures = answer["batchItemFailures"] if answer else []
            return {failure["itemIdentifier"] for failure in failures}
        except Exception:
            log.exception("the handler failed")
            return {message["MessageId"] for message in messages}

    @contextmanager
    def _kept_hidden(self, messages: Sequence[Json]) -> Iterator[None]:
        """Extend the messages' time-out for as long as the block runs."""
        done = threading.Event()

        def extend() -> None:
            while not done.is_set():
                try:
                    self._show_again(messages, self._polling.visibility)
                    self._polling.on_answer()
                except (BotoCoreError, ClientError) as error:
                    log.warning("messages may be shown again: %s", error)
                done.wait(self._polling.heartbeat)

        # Most calls are over before the first beat, and need no thread
        heartbeat = threading.Thread(target=extend, daemon=True)
        first_beat = timers.call_later(self._polling.heartbeat, heartbeat.start)
        try:
            yield
        finally:
            done.set()
            first_beat.cancel()
            if heartbeat.ident is not None:
                heartbeat.join()

    def _show_again(self, messages: Sequence[Json], seconds: int) -> None:
        for some in _tens(messages):
            self._client.change_message_visibility_batch(
                QueueUrl=self._url,
                Entries=[
                    {
                        "Id": str(i),
                        "ReceiptHandle": message["ReceiptHandle"],
                        "VisibilityTimeout": seconds,
                    }
                    for i, message in enumerate(some)
                ],
            )


def _tens(messages: Sequence[Json]) -> Iterator[Sequence[Json]]:
    """Yield as many messages at a time as one request to SQS takes."""
    return (messages[i : i + RECEIVE_BATCH] for i in range(0, len(messages), RECEIVE_BATCH))
