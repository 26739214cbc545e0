"""Tell the figures of a local service to Prometheus: ``GET /local/metrics``."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from typing import Any

from app import QUEUE_HANDLERS
from chalicelib.core import aws
from chalicelib.core.settings import settings
from infrastructure.local.gateway.local_api import LocalReply, LocalRequest, LocalRoute
from infrastructure.local.sink.mailbox import SinkMailbox

PATH = "/local/metrics"
_MESSAGES: Any = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]


class RequestCounts:
    """How many requests the application answered, by method and status, and the time it took."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: Counter[tuple[str, int]] = Counter()
        self._seconds = 0.0

    def add(self, method: str, status: int, seconds: float) -> None:
        """Count a request."""
        with self._lock:
            self._requests[method, status] += 1
            self._seconds += seconds

    def read(self) -> tuple[dict[tuple[str, int], int], float]:
        """Return the requests by method and status, and the seconds of all."""
        with self._lock:
            return dict(self._requests), self._seconds


class MetricsEndpoint:
    """Collects the figures at each request for them."""

    def __init__(self, requests: RequestCounts, mailbox: SinkMailbox) -> None:
        self._requests = requests
        self._mailbox = mailbox

    def routes(self) -> list[LocalRoute]:
        """Return the route of the figures."""
        return [LocalRoute("GET", PATH, self.show)]

    def show(self, request: LocalRequest) -> LocalReply:
        """Show the figures of this service, for Prometheus."""
        # Imported here, because the gateway should not start later for it
        from prometheus_client import CollectorRegistry
        from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

        registry = CollectorRegistry(auto_describe=False)
        registry.register(self)
        return LocalReply(generate_latest(registry), content_type=CONTENT_TYPE_LATEST)

    def collect(self) -> Iterator[Any]:
        """Yield a family for each figure."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        requests, seconds = self._requests.read()
        text = "Requests that the application answered."
        counter = CounterMetricFamily("postfinch_requests", text, labels=["method", "status"])
        for (method, status), count in requests.items():
            counter.add_metric([method, str(status)], count)
        yield counter
        text = "Seconds that these requests took."
        yield CounterMetricFamily("postfinch_request_seconds", text, value=seconds)
        messages, unread = self._mailbox.index.counts()
        text = "Messages in the mailbox."
        yield GaugeMetricFamily("postfinch_mailbox_messages", text, value=messages)
        text = "Messages in the mailbox that nobody has read."
        yield GaugeMetricFamily("postfinch_mailbox_unread_messages", text, value=unread)
        text = "Messages that wait in a queue, or are being handled."
        queued = GaugeMetricFamily("postfinch_queue_messages", text, labels=["queue"])
        text = "Messages that failed five times."
        dead = GaugeMetricFamily("postfinch_dead_letters", text, labels=["queue"])
        for queue in QUEUE_HANDLERS:
            queued.add_metric([queue], _messages(queue))
            dead.add_metric([queue], _messages(f"{queue}-dead"))
        yield from (queued, dead)


def _messages(queue: str) -> int:
    url = aws.sqs().get_queue_url(QueueName=settings().queue(queue))["QueueUrl"]
    response = aws.sqs().get_queue_attributes(QueueUrl=url, AttributeNames=_MESSAGES)
    return sum(int(response["Attributes"][name]) for name in _MESSAGES)
