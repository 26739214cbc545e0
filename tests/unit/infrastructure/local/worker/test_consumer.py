from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from chalicelib.core import aws, queue_consumer, queues, shutdown
from chalicelib.core.queues import Work
from chalicelib.core.settings import settings
from infrastructure.local.worker.consumer import BATCH_SIZES, VISIBILITY, consumers, retry_pause
from tests.fake_cloud import queued
from tests.unit.infrastructure.clouds import DEADLINE, ROOT, LocalCloud, eventually

# Writes each message to a file; the first word of its body decides the outcome.
PROGRAM = """
import os, sys, time
from infrastructure.local.worker import consumer
from infrastructure.local.worker.process import work
def handle(event, context):
    failed = []
    for record in event["Records"]:
        body = record["body"]
        with open(sys.argv[1], "a") as file:
            file.write(f"{body} {record['attributes']['ApproximateReceiveCount']}\\n")
        if body.startswith("raise"):
            raise RuntimeError(body)
        if body.startswith("fail"):
            failed.append({"itemIdentifier": record["messageId"]})
        if body.startswith("busy"):
            time.sleep(float(body.split()[1]))
            with open(sys.argv[1], "a") as file:
                file.write(f"{body} done\\n")
    return {"batchItemFailures": failed}
consumer.VISIBILITY, consumer.HEARTBEAT = 1, 0.3
work({"events": handle})
os._exit(0)
"""


class RunningWorker:
    """A worker in a separate process that consumes the queue ``events``."""

    def __init__(self, cloud: LocalCloud, seen: Path) -> None:
        self.cloud = cloud
        self.seen = seen
        client = cloud.client("sqs")
        self.url = client.create_queue(QueueName=settings().queue("events"))["QueueUrl"]
        self.process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(seen)],
            cwd=ROOT,
            env={**os.environ, "AWS_ENDPOINT_URL": cloud.url},
            stderr=subprocess.DEVNULL,
        )

    def send(self, *bodies: str) -> None:
        entries = [{"Id": str(i), "MessageBody": body} for i, body in enumerate(bodies)]
        self.cloud.client("sqs").send_message_batch(QueueUrl=self.url, Entries=entries)

    def lines(self) -> list[str]:
        return self.seen.read_text().splitlines() if self.seen.exists() else []

    def queued(self) -> tuple[int, int]:
        """Return the numbers of visible and hidden messages."""
        names = ("ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible")
        response = self.cloud.client("sqs").get_queue_attributes(
            QueueUrl=self.url, AttributeNames=list(names)
        )
        visible, hidden = (int(response["Attributes"][name]) for name in names)
        return visible, hidden

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(DEADLINE)


@pytest.fixture
def worker(local_cloud: LocalCloud, tmp_path: Path) -> Iterator[RunningWorker]:
    worker = RunningWorker(local_cloud, tmp_path / "seen")
    yield worker
    if worker.process.poll() is None:
        worker.stop(signal.SIGKILL)


def test_only_messages_that_the_handler_did_not_report_as_failed_are_deleted(
    worker: RunningWorker,
) -> None:
    worker.send("good", "fail", "good too")
    eventually(lambda: "fail 2" in worker.lines())
    lines = worker.lines()
    assert (lines.count("good 1"), lines.count("good too 1"), lines.count("fail 1")) == (1, 1, 1)
    assert "good 2" not in lines
    assert sum(worker.queued()) == 1


def test_the_batch_of_a_handler_that_raises_is_received_again(worker: RunningWorker) -> None:
    worker.send("raise")
    eventually(lambda: worker.lines()[:2] == ["raise 1", "raise 2"])


def test_a_message_stays_hidden_while_its_handler_runs(worker: RunningWorker) -> None:
    worker.send("busy 2.5")
    eventually(lambda: worker.lines() == ["busy 2.5 1"])
    rival = worker.cloud.client("sqs")
    while "busy 2.5 done" not in worker.lines():
        response = rival.receive_message(QueueUrl=worker.url, WaitTimeSeconds=1)
        assert "Messages" not in response
    eventually(lambda: worker.queued() == (0, 0))
    assert worker.lines() == ["busy 2.5 1", "busy 2.5 done"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_running_batch_is_finished_before_the_worker_stops(
    worker: RunningWorker, number: signal.Signals
) -> None:
    worker.send("busy 0.7")
    eventually(lambda: worker.lines() == ["busy 0.7 1"])
    assert worker.stop(number) == 0
    assert worker.lines() == ["busy 0.7 1", "busy 0.7 done"]
    assert worker.queued() == (0, 0)


def test_a_worker_goes_on_after_the_cloud_was_restarted(worker: RunningWorker) -> None:
    worker.send("before")
    eventually(lambda: worker.lines() == ["before 1"])
    port = worker.cloud.port
    worker.cloud.stop()
    worker.cloud.start(port)
    worker.send("after")
    eventually(lambda: worker.lines() == ["before 1", "after 1"])


def message(receives: int = 1, **more: Any) -> dict[str, Any]:
    return {
        "MessageId": "m",
        "ReceiptHandle": "r",
        "Body": "text",
        "MD5OfBody": "md5",
        "Attributes": {"ApproximateReceiveCount": str(receives)},
        **more,
    }


def test_a_failed_message_waits_twice_as_long_each_time() -> None:
    pauses = [retry_pause(message(receives)) for receives in range(1, 7)]
    assert pauses == [1, 2, 4, 8, VISIBILITY, VISIBILITY]


def test_a_batching_window_collects_messages_into_one_call(
    cloud: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WEBHOOK_WINDOW", "0.05")
    monkeypatch.setenv("EVENTS_WINDOW", "0")
    settings.cache_clear()
    calls: list[int] = []

    def handle(event: Any, _: Any) -> Any:
        calls.append(len(event["Records"]))
        return {"batchItemFailures": []}

    for name in ("webhook-events", "events"):
        queues.send(name, [Work({"n": n}) for n in range(25)])
        consumers(name, handle, aws.sqs())[0]._consume_once()
    assert calls == [25, 10]
    assert queued("webhook-events") == []
    assert len(queued("events")) == 15


def test_a_consumer_that_is_behind_does_not_wait_for_more(
    cloud: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVENTS_WINDOW", "7")
    settings.cache_clear()
    monkeypatch.setattr(queue_consumer, "MOST_GATHERED", 20)
    pauses: list[float] = []
    monkeypatch.setattr(
        queue_consumer, "time", SimpleNamespace(sleep=pauses.append, monotonic=time.monotonic)
    )
    (consumer,) = consumers("events", lambda event, _: {"batchItemFailures": []}, aws.sqs())
    queues.send("events", [Work({"n": n}) for n in range(45)])
    # 30 messages after a pause, and the others at once
    consumer._consume_once()
    consumer._consume_once()
    assert pauses == [7.0]
    queues.send("events", [Work({"n": 45})])
    consumer._consume_once()
    assert pauses == [7.0, 7.0]
    assert queued("events") == []


@pytest.mark.parametrize("queue", ["generation", "delivery"])
def test_a_worker_that_dies_has_received_no_work_that_it_has_not_begun(
    cloud: None, queue: str
) -> None:
    queues.send(queue, [Work({"n": n}) for n in range(6)])
    assert BATCH_SIZES[queue] == 1

    def die(event: Any, _: Any) -> Any:
        assert len(event["Records"]) == 1
        raise SystemExit

    with pytest.raises(SystemExit):
        consumers(queue, die, aws.sqs())[0]._consume_once()
    assert len(queued(queue)) == 5


def test_a_worker_that_stops_hands_back_what_it_has_received_and_not_begun(
    cloud: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queue_consumer, "HAND_BACK_DELAY", 0)
    queues.send("delivery", [Work({"n": 1})])
    consumer, *_ = consumers("delivery", lambda *_: pytest.fail("it was begun"), aws.sqs())
    shutdown.request()
    try:
        for _ in range(9):  # however many threads stop and meet it
            consumer._consume_once()
        consumer.finish()
    finally:
        shutdown.withdraw()
    (message,) = consumer._received(10, 0)
    assert message["Attributes"]["ApproximateReceiveCount"] == "1"
