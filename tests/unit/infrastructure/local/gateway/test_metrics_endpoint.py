"""Prometheus reads requests, mailbox and queues of a local service."""

from __future__ import annotations

from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from chalicelib.events import stream
from infrastructure.local.figures import RequestCounts
from infrastructure.local.gateway.metrics_endpoint import PATH, MetricsEndpoint
from infrastructure.local.mailbox.mailbox import SinkMailbox
from tests.unit.events.examples import event_at
from tests.unit.infrastructure.local.gateway.local_client import LocalClient


def test_figures_are_read(cloud: None, tmp_path: Path) -> None:
    requests, mailbox = RequestCounts(), SinkMailbox(tmp_path)
    requests.add("GET", 200, 0.25)
    requests.add("GET", 200, 0.5)
    requests.add("POST", 422, 0.25)
    mailbox.add("a@example.test", "b@example.test", b"Subject: Hello\r\n\r\nHello\r\n")
    stream.emit([event_at(1_800_000_000_000)])
    reply = LocalClient(MetricsEndpoint(requests, mailbox).routes()).ask("GET", PATH)
    assert reply.headers["content-type"].startswith("text/plain; version=")
    figures = {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(reply.body.decode())
        for sample in family.samples
    }
    assert figures["postfinch_requests_total", "GET", "200"] == 2
    assert figures["postfinch_requests_total", "POST", "422"] == 1
    assert figures["postfinch_request_seconds_total",] == 1.0
    assert figures["postfinch_mailbox_messages",] == 1
    assert figures["postfinch_mailbox_unread_messages",] == 1
    assert figures["postfinch_queue_messages", "events"] == 1
    assert figures["postfinch_queue_messages", "delivery"] == 0
    assert figures["postfinch_dead_letters", "events"] == 0
