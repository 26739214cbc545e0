"""A consumer tells of each answer that it gets from SQS, and hands back what it has not begun."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from chalicelib.core import shutdown
from chalicelib.core.queue_consumer import Consumer, Polling

MESSAGE = {"MessageId": "1", "ReceiptHandle": "r", "Body": "{}", "MD5OfBody": "", "Attributes": {}}


class FakeSqs:
    """A queue with one message."""

    def __init__(self) -> None:
        self.extensions = 0
        self.deleted = 0
        self.attributes: dict[str, str] = {}
        self.requests: list[dict[str, Any]] = []

    def get_queue_url(self, **_: Any) -> dict[str, str]:
        return {"QueueUrl": "https://queue.test/"}

    def receive_message(self, **_: Any) -> dict[str, Any]:
        return {"Messages": [MESSAGE | {"Attributes": self.attributes}]}

    def change_message_visibility_batch(self, **_: Any) -> None:
        self.extensions += 1

    def delete_message_batch(self, **_: Any) -> None:
        self.deleted += 1

    def send_message(self, **request: Any) -> None:
        self.requests.append(request)

    def delete_message(self, **_: Any) -> None:
        self.deleted += 1


@pytest.mark.usefixtures("cloud")
def test_a_consumer_that_works_for_long_still_tells_of_answers() -> None:
    sqs, answers, enough = FakeSqs(), list[int](), threading.Event()

    def on_answer() -> None:
        answers.append(sqs.extensions)
        if len(answers) == 3:
            enough.set()

    def handle(event: Any, context: Any) -> dict[str, Any]:
        assert enough.wait(10)
        return {}

    consumer = Consumer("delivery", handle, sqs, Polling(1, 60, 0.01, on_answer=on_answer))
    consumer._client = sqs
    consumer._consume_once()
    assert answers[:3] == [0, 1, 2]
    assert sqs.deleted == 1


@pytest.mark.usefixtures("cloud")
@pytest.mark.parametrize("attributes", [{"MessageGroupId": "7"}, {}])
def test_a_message_that_is_handed_back_keeps_its_group(attributes: dict[str, str]) -> None:
    sqs = FakeSqs()
    sqs.attributes = attributes
    consumer = Consumer("delivery", lambda *_: pytest.fail("it was begun"), sqs, Polling(1, 60, 9))
    consumer._client = sqs
    shutdown.request()
    try:
        consumer._consume_once()
    finally:
        shutdown.withdraw()
    (request,) = sqs.requests
    assert request["MessageBody"] == "{}"
    assert request.get("MessageGroupId") == attributes.get("MessageGroupId")
    assert sqs.deleted == 1


@pytest.mark.usefixtures("cloud")
def test_work_that_keeps_coming_is_gathered_and_a_first_message_waits_for_nothing() -> None:
    sizes: list[int] = []

    class BusyQueue(FakeSqs):
        def receive_message(self, *, WaitTimeSeconds: int, **_: Any) -> dict[str, Any]:
            self.extensions += 1
            # Of those that are received without waiting, every other time there is none
            is_there = WaitTimeSeconds or self.extensions % 2
            return super().receive_message() if is_there else {}

    def handle(event: Any, context: Any) -> dict[str, Any]:
        sizes.append(len(event["Records"]))
        return {}

    sqs = BusyQueue()
    consumer = Consumer("events", handle, sqs, Polling(10, 60, 9, busy_window=0.05))
    consumer._client = sqs
    consumer._consume_once()
    consumer._consume_once()
    consumer._ended -= 1  # a lull
    consumer._consume_once()
    assert sizes == [1, 2, 1]
