"""Run the message path in simulated time, with queues that keep to the delays of messages.

Days pass in the time that the work takes. Schedules are called once a minute, as on AWS.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

import pytest

from chalicelib import generation_queue
from chalicelib.core import aws, clock, queues
from chalicelib.core.settings import settings
from chalicelib.delivery.worker import deliver_batch
from chalicelib.events import stream
from chalicelib.generation_queue import generate_batch, send_small_batch
from tests.fake_cloud import sqs_event
from tests.unit.delivery.mail_host import MailHost

TICK = 60.0

_HANDLERS = {
    "generation": generate_batch,
    "small-sends": send_small_batch,
    "delivery": deliver_batch,
}


class Queues:
    """Stand in for the client of SQS; messages are ordered by when they become visible."""

    def __init__(self) -> None:
        self.messages: list[tuple[float, int, str, str]] = []
        self._numbers = count()

    def get_queue_url(self, QueueName: str) -> dict[str, str]:
        return {"QueueUrl": QueueName}

    def send_message(
        self, QueueUrl: str, MessageBody: str, DelaySeconds: int, MessageGroupId: str = ""
    ) -> None:
        queue = QueueUrl.removeprefix(settings().queue(""))
        message = clock.now() + DelaySeconds, next(self._numbers), queue, MessageBody
        heapq.heappush(self.messages, message)

    def send_message_batch(self, QueueUrl: str, Entries: list[Any]) -> dict[str, Any]:
        for entry in Entries:
            self.send_message(QueueUrl, entry["MessageBody"], entry["DelaySeconds"])
        return {}


class World:
    """Run the workers and the schedules of a service.

    ``deliveries`` holds the time and recipient of each message, ``events`` what went to recording.
    ``repeats`` is how often each queue message is handled.
    """

    def __init__(self, now: float, schedules: list[Callable[[int], object]]) -> None:
        self.now = now
        self.queues = Queues()
        self.host = MailHost()
        self.deliveries: list[tuple[float, str]] = []
        self.events: list[dict[str, Any]] = []
        self.repeats = 1
        self._schedules = schedules
        self._next_tick = now
        self.host.after = lambda message: self.deliveries.append((self.now, message.recipient))

    @contextmanager
    def running(self) -> Iterator[World]:
        """Make this process use the world's queues and clock within the block."""
        queues.clear_cache()
        with pytest.MonkeyPatch.context() as patch, clock.use(lambda: self.now):
            patch.setattr(aws, "sqs", lambda: self.queues)
            # All events go to the queue, none is recorded by the worker that sends
            patch.setattr(generation_queue, "ends_lull", lambda: False)
            self.host.install(patch)
            yield self
        queues.clear_cache()

    def run(self, seconds: float, *, ticking: bool = True) -> None:
        """Let time pass; without ``ticking`` no schedule is called meanwhile."""
        until = self.now + seconds
        while (next_time := min(self._next_message, self._next_tick)) <= until:
            self.now = max(self.now, next_time)
            if self._next_message <= self.now:
                self._work()
            if self._next_tick <= self.now:
                self._next_tick = self.now + TICK
                for schedule in self._schedules if ticking else ():
                    schedule(int(self.now * 1000))
        self.now = until

    @property
    def _next_message(self) -> float:
        return self.queues.messages[0][0] if self.queues.messages else float("inf")

    def _work(self) -> None:
        _, _, queue, body = heapq.heappop(self.queues.messages)
        for _ in range(self.repeats):
            if queue == stream.QUEUE:
                self.events += stream.decode(queues.read(body))
            else:
                response = _HANDLERS[queue](sqs_event([body]))
                assert response == {"batchItemFailures": []}
