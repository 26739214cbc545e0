"""Compute dollars for a million messages from counted requests and measured processor time.

A bulk request of 2,000 recipients and 200 requests of one recipient each go through a service that
keeps its journal in the messages table and lets events wait for others, as Lambda functions do, and
calls its scheduled functions every minute, as EventBridge does. The local cloud counts requests and
write units; processor time is that of the API and the workers. The time for which Lambda bills
while it waits for mail hosts is computed from ``HOST_SECONDS``. Polls that receive nothing cost the
same with and without mail, so they are in the table of an idle stage and not here. Prices are list
prices of us-east-1, without free tiers. The printed table is the one in docs/costs.md.
"""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from chalicelib.core.settings import Settings
from infrastructure.deployment.functions import functions
from tests.journey.service import CloudCounts, Service, eventually

BULK = 2_000
SINGLE = 200
HTML = "<html><body><h1>News for {{name}}</h1>" + "<p>Lorem ipsum dolor sit amet.</p>" * 160

# Dollars
WRITE_UNIT = 0.625e-6
READ_UNIT = 0.125e-6
SQS_REQUEST = 0.40e-6
S3_REQUEST = 5e-6
API_REQUEST = 3.50e-6
CALL = 0.20e-6
GB_SECOND = 13.3334e-6
LOGGED_GB = 0.50

# Seconds that a mail host takes for a message, and the number of connections used at a time
HOST_SECONDS = 0.5
CONNECTIONS = 16
# The seconds from one call of the scheduled functions to the next
SCHEDULE_SECONDS = 60
# CloudWatch adds these bytes to each line
LINE_BYTES = 26
# The bars: dollars for a million messages, write units and log bytes of a single message
MOST_BULK, MOST_SINGLE, MOST_UNITS, MOST_LOGGED = 2.0, 14.0, 10.0, 1_000

_READS = ("DynamoDB.Get", "DynamoDB.BatchGet", "DynamoDB.Query", "DynamoDB.TransactGet")
_MEMORY = {each.name: each.size.memory / 1024 for each in functions()}


@dataclass(frozen=True, slots=True)
class Load:
    """The requests and the processor time that a number of messages took."""

    messages: int
    requests: int
    counts: CloudCounts
    processor: float
    logged: int

    def rows(self) -> list[tuple[str, str, float]]:
        """Return each billed unit: its name, units a message, and dollars a million messages."""
        # Each poll that receives messages is followed by a request that deletes them
        sqs = self._requests("SQS.Send", "SQS.Change") + 2 * self._requests("SQS.Delete")
        # A function is called for each batch of messages; each batch is deleted by one request.
        calls = self._requests("SQS.Delete") + self.requests
        waiting_seconds = self.messages * HOST_SECONDS / min(CONNECTIONS, self._batch_size())
        waiting_function = "small_sends" if self._batch_size() == 1 else "delivery"
        seconds = (
            self.processor * _MEMORY["generation"] + waiting_seconds * _MEMORY[waiting_function]
        )
        return [
            self._row("DynamoDB write units", self.counts.write_units, WRITE_UNIT),
            self._row("DynamoDB reads", self._requests(*_READS), READ_UNIT),
            self._row("SQS requests", sqs, SQS_REQUEST),
            self._row("S3 requests", self._requests("S3."), S3_REQUEST),
            self._row("API Gateway requests", self.requests, API_REQUEST),
            self._row("Lambda calls", calls, CALL),
            self._row("Lambda GB-seconds", seconds, GB_SECOND),
            self._row("CloudWatch logs, GB", self.logged / 1e9, LOGGED_GB),
        ]

    def _row(self, name: str, amount: float, price: float) -> tuple[str, str, float]:
        each = amount / self.messages
        return name, f"{each:.2g}" if each < 0.1 else f"{each:.2f}", each * price * 1e6

    def _requests(self, *prefixes: str) -> int:
        return sum(n for name, n in self.counts.by_operation.items() if name.startswith(prefixes))

    def _batch_size(self) -> int:
        """Return how many messages one call of a function delivers at a time."""
        return math.ceil(min(100, self.messages / self.requests))


def main() -> None:
    """Measure and print the table."""
    with tempfile.TemporaryDirectory() as directory:
        service = Service(Path(directory))
        try:
            service.start(
                COUNT_REQUESTS="1",
                DELIVERY_JOURNAL="",
                EVENTS_WINDOW=str(Settings().events_window),
                LOG_FORMAT="json",
                SCHEDULE_SECONDS=str(SCHEDULE_SECONDS),
            )
            service.send("warm-up@inbox.test")
            eventually(lambda: len(service.event_types("warm-up@inbox.test")) == 2)
            _roll_up(service)
            bulk = _measure(service, BULK, 1, lambda: _send_bulk(service))
            single = _measure(service, SINGLE, SINGLE, lambda: _send_singles(service))
        finally:
            service.stop()
    _print(bulk, single)


def _measure(service: Service, messages: int, requests: int, send: Callable[[], None]) -> Load:
    delivered, counts, processor, logged = (
        service.mailbox_count(),
        service.cloud_counts(),
        _seconds(service),
        _logged(service),
    )
    send()
    eventually(lambda: service.mailbox_count() >= delivered + messages, 300)
    eventually(lambda: _quiet(service), 60)
    _roll_up(service)
    return Load(
        messages,
        requests,
        service.cloud_counts().minus(counts),
        _seconds(service) - processor,
        _logged(service) - logged,
    )


def _send_bulk(service: Service) -> None:
    recipients = [
        {"address": f"reader-{i}@inbox.test", "substitution_data": {"name": f"Reader {i}"}}
        for i in range(BULK)
    ]
    content = {"from": "news@example.test", "subject": "News for {{name}}", "html": HTML}
    response = service.request(
        "POST", "/api/v1/transmissions", {"recipients": recipients, "content": content}
    )
    assert response.status == 200, response.body


def _send_singles(service: Service) -> None:
    for i in range(SINGLE):
        service.send(f"single-{i}@inbox.test", html=HTML)


def _quiet(service: Service) -> bool:
    """Return whether nothing was written for longer than events wait for others."""
    before = service.cloud_counts().writes
    time.sleep(Settings().events_window + 2)
    return service.cloud_counts().writes == before


def _roll_up(service: Service) -> None:
    """Wait until the scheduled functions have been called, and have done what there was."""
    time.sleep(SCHEDULE_SECONDS)
    eventually(lambda: _quiet(service), 60)


def _logged(service: Service) -> int:
    """Return the bytes that the API and the workers logged of their calls."""
    lines = [line for path in service.log_files() for line in path.read_bytes().splitlines()]
    return sum(len(line) + LINE_BYTES for line in lines if b'"_aws"' in line)


def _seconds(service: Service) -> float:
    """Return the processor time of the API and the workers."""
    processes = [*service.workers(), *service.running("api")]
    return sum(sum(each.cpu_times()[:2]) for each in processes)


def _print(bulk: Load, single: Load) -> None:
    print("| | bulk: a message | $ a million | single: a message | $ a million |")
    print("|---|---|---|---|---|")
    for (name, each, dollars), (_, other, more) in zip(bulk.rows(), single.rows(), strict=True):
        print(f"| {name} | {each} | {dollars:.2f} | {other} | {more:.2f} |")
    sums = [sum(row[2] for row in load.rows()) for load in (bulk, single)]
    print(f"| **total** | | **{sums[0]:.2f}** | | **{sums[1]:.2f}** |")
    units, logged = single.counts.write_units / SINGLE, single.logged / SINGLE
    print(f"bulk: $ a million: {sums[0]:.2f} {_verdict(sums[0], MOST_BULK)}")
    print(f"single send: $ a million: {sums[1]:.2f} {_verdict(sums[1], MOST_SINGLE)}")
    print(f"single send: write units: {units:.1f} {_verdict(units, MOST_UNITS)}")
    print(f"single send: log bytes: {logged:.0f} {_verdict(logged, MOST_LOGGED)}")


def _verdict(figure: float, most: float) -> str:
    return f"[{'holds' if figure <= most else 'FAILS'}: at most {most:g}]"


if __name__ == "__main__":
    main()
