"""Collect the figures that Prometheus reads of a service on one machine: requests and queues."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from typing import Any

from chalicelib.core import aws
from chalicelib.core.settings import settings

#: The end of the name of a dead-letter queue
DEAD = "-dead"
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


def text_of(collector: Any) -> tuple[bytes, str]:
    """Return what a collector yields in Prometheus's form, and the media type."""
    # Imported here, because the gateway should not start later for it
    from prometheus_client import CollectorRegistry
    from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

    registry = CollectorRegistry(auto_describe=False)
    registry.register(collector)
    return generate_latest(registry), CONTENT_TYPE_LATEST


def of_requests(counts: RequestCounts) -> Iterator[Any]:
    """Yield a family for each figure of the API."""
    from prometheus_client.core import CounterMetricFamily

    requests, seconds = counts.read()
    text = "Requests that the application answered."
    counter = CounterMetricFamily("postfinch_requests", text, labels=["method", "status"])
    for (method, status), count in requests.items():
        counter.add_metric([method, str(status)], count)
    yield counter
    text = "Seconds that these requests took."
    yield CounterMetricFamily("postfinch_request_seconds", text, value=seconds)


def of_queues() -> Iterator[Any]:
    """Yield a family for each figure of the queues."""
    from prometheus_client.core import GaugeMetricFamily

    text = "Messages that wait in a queue, or are being handled."
    queued = GaugeMetricFamily("postfinch_queue_messages", text, labels=["queue"])
    text = "Messages that failed five times."
    dead = GaugeMetricFamily("postfinch_dead_letters", text, labels=["queue"])
    for queue, count in counts_of_queues().items():
        if queue.endswith(DEAD):
            dead.add_metric([queue.removesuffix(DEAD)], count)
        else:
            queued.add_metric([queue], count)
    yield from (queued, dead)


def counts_of_queues() -> dict[str, int]:
    """Return how many messages each queue has, those in hand included, by its short name."""
    prefix = settings().queue("")
    urls = aws.sqs().list_queues(QueueNamePrefix=prefix).get("QueueUrls", [])
    return {url.rpartition("/")[2].removeprefix(prefix): _messages_at(url) for url in sorted(urls)}


def _messages_at(url: str) -> int:
    response = aws.sqs().get_queue_attributes(QueueUrl=url, AttributeNames=_MESSAGES)
    return sum(int(response["Attributes"][name]) for name in _MESSAGES)
