"""Tell the figures of a local service to Prometheus: ``GET /local/metrics``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from infrastructure.local import figures
from infrastructure.local.figures import RequestCounts
from infrastructure.local.gateway.local_api import LocalReply, LocalRequest, LocalRoute
from infrastructure.local.mailbox.mailbox import SinkMailbox

PATH = "/local/metrics"


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
        text, content_type = figures.text_of(self)
        return LocalReply(text, content_type=content_type)

    def collect(self) -> Iterator[Any]:
        """Yield a family for each figure."""
        from prometheus_client.core import GaugeMetricFamily

        yield from figures.of_requests(self._requests)
        messages, unread = self._mailbox.index.counts()
        text = "Messages in the mailbox."
        yield GaugeMetricFamily("postfinch_mailbox_messages", text, value=messages)
        text = "Messages in the mailbox that nobody has read."
        yield GaugeMetricFamily("postfinch_mailbox_unread_messages", text, value=unread)
        yield from figures.of_queues()
