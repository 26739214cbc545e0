"""Receivers of a long queue look at few of its messages, and get the same ones."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from ministack.services import sqs

from chalicelib.core import clock
from infrastructure.local.cloud import queue_reads
from infrastructure.local.cloud.steady_time import SteadyTime

MESSAGES = 200


class Looks(dict[str, Any]):
    """A message that counts how often somebody looks at it."""

    count = 0

    def get(self, key: str, default: Any = None) -> Any:
        """Return a field."""
        Looks.count += 1
        return super().get(key, default)

    def setdefault(self, key: str, default: Any = None) -> Any:
        """Return a field, with this value if it has none."""
        Looks.count += 1
        return super().setdefault(key, default)


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """The running time, in seconds."""
    running = [100.0]
    monkeypatch.setattr(sqs, "_collect_msgs", sqs._collect_msgs)
    monkeypatch.setattr(sqs, "_expire_retained", sqs._expire_retained)
    with clock.use(lambda: 1_000_000.0, lambda: running[0]):
        monkeypatch.setattr(sqs, "time", SteadyTime())
        queue_reads.install()
        yield running


def make_queue(name: str, **attributes: str) -> str:
    sqs._HANDLERS["CreateQueue"]({"QueueName": name, "Attributes": attributes}, "")
    url: str = sqs._HANDLERS["GetQueueUrl"]({"QueueName": name}, "")["QueueUrl"]
    return url


def send(url: str, body: str, seconds: int = 0, **fields: str) -> None:
    request = {"MessageBody": body, "DelaySeconds": seconds, **fields}
    sqs._HANDLERS["SendMessage"](request, url)


def receive(url: str, most: int = 10) -> list[str]:
    request = {"VisibilityTimeout": 30, "MaxNumberOfMessages": most}
    answer = asyncio.run(sqs._HANDLERS["ReceiveMessage"](request, url))
    return [each["Body"] for each in answer.get("Messages", [])]


def test_messages_come_in_order_and_at_their_time(time: list[float]) -> None:
    url = make_queue("in-order")
    for number in range(12):
        send(url, str(number), 60 if number % 2 else 0)
    assert receive(url, 4) == ["0", "2", "4", "6"]
    assert receive(url, 4) == ["8", "10"]
    assert receive(url) == []
    time[0] += 31
    assert receive(url) == ["0", "2", "4", "6", "8", "10"]
    time[0] += 31
    assert receive(url, 3) == ["0", "1", "2"]


def test_a_message_of_another_service_is_received(time: list[float]) -> None:
    url = make_queue("from-elsewhere")
    sqs._get_q(url)["messages"].append({"id": "m", "body": "a notification"})
    assert receive(url) == ["a notification"]
    assert receive(url) == []


def test_groups_of_a_queue_in_strict_order_wait_for_their_turn(time: list[float]) -> None:
    url = make_queue("strict.fifo", FifoQueue="true", ContentBasedDeduplication="true")
    for body in ("a1", "a2", "b1"):
        send(url, body, MessageGroupId=body[0])
    assert receive(url, 1) == ["a1"]
    assert receive(url, 1) == ["b1"]
    assert receive(url, 1) == []


def test_old_messages_are_removed(time: list[float]) -> None:
    url = make_queue("short-memory", MessageRetentionPeriod="60")
    send(url, "old")
    time[0] += 40
    send(url, "young")
    time[0] += 30
    assert receive(url) == ["young"]
    assert [each["body"] for each in sqs._get_q(url)["messages"]] == ["young"]


def test_a_receiver_looks_at_few_messages(time: list[float]) -> None:
    url = make_queue("long")
    for number in range(MESSAGES):
        send(url, str(number))
    queue = sqs._get_q(url)
    queue["messages"] = [Looks(each) for each in queue["messages"]]
    Looks.count = 0
    assert receive(url, 1) == ["0"]
    assert Looks.count < 20
