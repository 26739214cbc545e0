"""Simulate webhook dispatch in one process, with a clock that the test moves.

The queues are lists. Queue messages are read from the service's requests to SQS and passed to the
consumers when their delay is over, so eight hours pass as fast as their attempts are made.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

from chalicelib.core import clock, queues
from chalicelib.core.message_event import Event
from chalicelib.core.settings import settings
from chalicelib.events import stream
from chalicelib.webhook_dispatch.collect import collect
from chalicelib.webhook_dispatch.merge import merge_events
from chalicelib.webhook_dispatch.worker import post_batches
from chalicelib.webhooks.credentials import Credentials, seal
from chalicelib.webhooks.model import Webhook
from chalicelib.webhooks.store import webhooks as webhook_store
from tests.fake_cloud import AwsRequest, aws_requests, sqs_event

#: 2026-01-31 09:00:00 UTC
NINE = 1_769_850_000.0


def _pass_events(event: dict[str, Any]) -> dict[str, Any]:
    """Take events off their queue, as recording does; the test reads what was sent."""
    return {"batchItemFailures": []}


_HANDLERS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "webhook-events": merge_events,
    "webhook-batches": post_batches,
    "events": _pass_events,
}


def make_webhook(target: str, name: str = "w", **fields: Any) -> Webhook:
    """Store a webhook of account 1 that takes deliveries and bounces."""
    attributes: dict[str, Any] = {"events": ("delivery", "bounce"), "created_ms": 0} | fields
    sealed = seal(attributes.pop("credentials", Credentials()), name)
    webhook = Webhook(name, 1, "Ours", target, sealed=sealed, **attributes)
    webhook_store.create(webhook)
    return webhook


def operations(requests: Iterable[AwsRequest]) -> list[str]:
    """Return the operations, without GetQueueUrl, which a process calls once for each queue."""
    return [each.operation for each in requests if each.operation != "GetQueueUrl"]


class Simulation:
    """Queues and a clock; the time passes when no message is due."""

    def __init__(self) -> None:
        self.now = NINE
        self._order = count()
        self._messages: list[tuple[float, int, str, str]] = []
        self.handled: list[tuple[float, str]] = []
        self.events: list[Event] = []
        self.repeat = 1

    @contextmanager
    def running(self) -> Iterator[Simulation]:
        """Use the clock of this simulation."""
        with clock.use(lambda: self.now):
            yield self

    def record(self, events: Iterable[Event]) -> None:
        """Collect events, as recording does."""
        with self.watched():
            collect(list(events))

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Put the messages that are sent within the block on the queues."""
        with aws_requests() as requests:
            yield
        for operation, parameters in requests:
            if operation in ("SendMessage", "SendMessageBatch"):
                queue = parameters["QueueUrl"].rpartition("/")[2].removeprefix(settings().queue(""))
                for entry in parameters.get("Entries", [parameters]):
                    self.show(queue, entry["MessageBody"], entry["DelaySeconds"])
                    if queue == "events":
                        self.events += stream.decode(queues.read(entry["MessageBody"]))

    def show(self, queue: str, body: str, delay: float = 0) -> None:
        """Put a message on a queue."""
        heapq.heappush(self._messages, (self.now + delay, next(self._order), queue, body))

    def run(self, until: float | None = None) -> None:
        """Pass messages to the consumers, one at a time, until a time or until there are none."""
        while self._messages and (until is None or self._messages[0][0] <= until):
            at, _, queue, body = heapq.heappop(self._messages)
            self.now = max(self.now, at)
            for _ in range(self.repeat):
                self._handle(queue, [body])
        self.now = max(self.now, until or 0.0)

    def merge_each(self) -> None:
        """Pass each message of ``webhook-events`` to its consumer alone, which makes a batch."""
        bodies = [body for *_, queue, body in self._messages if queue == "webhook-events"]
        self._messages = [each for each in self._messages if each[2] != "webhook-events"]
        for body in bodies:
            self._handle("webhook-events", [body])

    def set_back(self, seconds: float) -> None:
        """Set the clock back; the queues count their delays on."""
        self.now -= seconds
        self._messages = [(at - seconds, *rest) for at, *rest in self._messages]  # type: ignore[misc]

    def run_together(self) -> None:
        """Pass all messages that are due to the consumer of each queue, in one call."""
        for queue in _HANDLERS:
            seen = [each for each in self._messages if each[0] <= self.now and each[2] == queue]
            if seen:
                self._messages = [each for each in self._messages if each not in seen]
                heapq.heapify(self._messages)
                self._handle(queue, [body for *_, body in seen])

    def _handle(self, queue: str, bodies: list[str]) -> None:
        self.handled.append((self.now, queue))
        with self.watched():
            failed = _HANDLERS[queue](sqs_event(bodies))["batchItemFailures"]
        for failure in failed:
            self.show(queue, bodies[int(failure["itemIdentifier"].removeprefix("m-"))], 30)
