"""Measure a transmission with 5,000 recipients and 5 KB of html until its last delivery event.

The benchmark starts and stops its own service. The local cloud counts requests and write units as
it serves them; nothing is estimated. The second run keeps the delivery journal in the messages
table, as Lambda functions do, which share no disk.
"""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from tests.journey.service import CloudCounts, Service, eventually

RECIPIENTS = 5_000
HTML = "<html><body><h1>News for {{name}}</h1>" + "<p>Lorem ipsum dolor sit amet.</p>" * 160
MOST_REQUESTS_PER_MESSAGE = 1.0
FEWEST_MESSAGES_PER_SECOND = 100.0


@dataclass
class Peaks:
    """The peak memory of each process in MB, by name."""

    megabytes: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def watch(self, service: Service) -> Iterator[None]:
        """Sample the memory of the service's processes until the block ends."""
        done = threading.Event()

        def sample() -> None:
            while not done.wait(0.2):
                for process in service.family():
                    self._note(process)

        watcher = threading.Thread(target=sample, daemon=True)
        watcher.start()
        try:
            yield
        finally:
            done.set()
            watcher.join()

    def _note(self, process: psutil.Process) -> None:
        try:
            name, memory = process.name(), process.memory_info().rss / 1e6
        except psutil.NoSuchProcess:
            return
        self.megabytes[name] = max(memory, self.megabytes.get(name, 0.0))


def main() -> None:
    """Run both configurations and print the figures."""
    _run("journal in a file (local runtime)", {}, judge=True)
    _run("journal in the messages table (Lambda)", {"DELIVERY_JOURNAL": ""}, judge=False)


def _run(title: str, environment: dict[str, str], *, judge: bool) -> None:
    with tempfile.TemporaryDirectory() as directory:
        service = Service(Path(directory))
        try:
            began = time.monotonic()
            service.start(COUNT_REQUESTS="1", **environment)
            print(f"-- {title}; ready after {time.monotonic() - began:.1f} s")
            _measure(service, judge)
        finally:
            service.stop()


def _measure(service: Service, judge: bool) -> None:
    service.send("warm-up@inbox.test")
    service.arrived("warm-up@inbox.test")
    eventually(lambda: service.event_types("warm-up@inbox.test") == ["injection", "delivery"])
    recipients = [
        {"address": f"reader-{i}@inbox.test", "substitution_data": {"name": f"Reader {i}"}}
        for i in range(RECIPIENTS)
    ]
    content = {"from": "news@example.test", "subject": "News for {{name}}", "html": HTML}
    before = service.cloud_counts()
    peaks = Peaks()
    with peaks.watch(service):
        began = time.monotonic()
        response = service.request(
            "POST", "/api/v1/transmissions", {"recipients": recipients, "content": content}
        )
        assert response.status == 200, response.body
        accept_seconds = time.monotonic() - began
        # Searching events is work for the service too, so the sink shows the progress, and events
        # are searched only at the end.
        eventually(lambda: service.mailbox_count() >= RECIPIENTS + 1, 300)
        send_seconds = time.monotonic() - began
        counts = eventually(lambda: _settled(service), 60)
        total_seconds = time.monotonic() - began
    eventually(lambda: _delivery_count(service) == RECIPIENTS + 1, 30)
    _report(accept_seconds, send_seconds, total_seconds, counts.minus(before), peaks, judge)


def _settled(service: Service) -> CloudCounts | None:
    """Return the counts once the queues have been empty and quiet for half a second."""
    first = service.cloud_counts()
    time.sleep(0.5)
    second = service.cloud_counts()
    return second if second.writes == first.writes else None


def _delivery_count(service: Service) -> int:
    response = service.request("GET", "/api/v1/events/message?events=delivery&per_page=1")
    return response.json["total_count"]


def _report(
    accept_seconds: float,
    send_seconds: float,
    total_seconds: float,
    counts: CloudCounts,
    peaks: Peaks,
    judge: bool,
) -> None:
    total, units = counts.requests, counts.write_units
    rate = RECIPIENTS / total_seconds
    print(f"accepted after {accept_seconds:.2f} s, last message after {send_seconds:.2f} s")
    print(
        f"last event after {total_seconds:.2f} s: {rate:.0f} messages/s",
        _verdict(
            rate >= FEWEST_MESSAGES_PER_SECOND, f"at least {FEWEST_MESSAGES_PER_SECOND:.0f}", judge
        ),
    )
    each = total / RECIPIENTS
    print(
        f"AWS requests: {total} = {each:.3f} a message",
        _verdict(each <= MOST_REQUESTS_PER_MESSAGE, f"at most {MOST_REQUESTS_PER_MESSAGE}", judge),
    )
    print(f"DynamoDB write units: {units:.0f} = {units / RECIPIENTS:.2f} a message")
    print(f"list prices, without Lambda: ${_dollars(counts):.2f} a million messages")
    for operation, count in sorted(counts.by_operation.items(), key=lambda each: -each[1]):
        print(f"  {operation:40} {count:6}")
    for name, megabytes in sorted(peaks.megabytes.items()):
        print(f"  peak memory {name:45} {megabytes:6.0f} MB")


def _dollars(counts: CloudCounts) -> float:
    """Return the dollars for a million messages at the on-demand list prices of us-east-1."""
    sqs = sum(n for name, n in counts.by_operation.items() if name.startswith("SQS"))
    s3 = sum(n for name, n in counts.by_operation.items() if name.startswith("S3"))
    dollars = counts.write_units * 0.625e-6 + sqs * 0.40e-6 + s3 * 5e-6
    return dollars / RECIPIENTS * 1e6


def _verdict(holds: bool, bar: str, judge: bool) -> str:
    if not judge:
        return ""
    return f"[{'holds' if holds else 'FAILS'}: {bar}]"
