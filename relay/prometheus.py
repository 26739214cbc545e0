"""Show the relay's figures to Prometheus: ``GET /metrics`` at ``RELAY_METRICS_PORT``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from relay.shared_figures import OPEN, TOTALS, SharedFigures

_PREFIX = "postfinch_relay_"
_TEXTS = {
    "connections": "Clients that connected.",
    "connections_refused": "Clients that were refused because too many were connected.",
    "logins": "Logins that succeeded.",
    "logins_refused": "Logins that failed.",
    "messages_accepted": "Messages that were stored.",
    "messages_refused": "Messages that were refused for good (5xx).",
    "messages_deferred": "Messages that may be sent again (4xx).",
    "octets_accepted": "Octets of the messages that were stored.",
    "recipients_accepted": "Recipients of the messages that were stored.",
    "faults": "Errors within the relay.",
}


class RelayCollector(Collector):
    """Reads the figures at each request for them."""

    def __init__(self, figures: SharedFigures) -> None:
        self._figures = figures

    def collect(self) -> Iterator[Any]:
        """Yield a family for each figure, with the service as a label."""
        sums = self._figures.sums()
        for name in TOTALS:
            counter = CounterMetricFamily(_PREFIX + name, _TEXTS[name], labels=["service"])
            for service, values in sums.items():
                counter.add_metric([service], values[name])
            yield counter
        gauge = GaugeMetricFamily(_PREFIX + OPEN, "Clients that are connected.", labels=["service"])
        for service, values in sums.items():
            gauge.add_metric([service], values[OPEN])
        yield gauge


def serve(figures: SharedFigures, host: str, port: int) -> None:
    """Answer requests in a thread of this process; raises OSError if the port is taken."""
    registry = CollectorRegistry()
    registry.register(RelayCollector(figures))
    start_http_server(port, addr=host, registry=registry)
