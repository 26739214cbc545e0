"""A consumer tells of each answer that it gets from SQS."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from chalicelib.core.queue_consumer import Consumer, Polling

MESSAGE = {"MessageId": "1", "ReceiptHandle": "r", "Body": "{}", "MD5OfBody": "", "Attributes": {}}


class FakeSqs:
    """A queue with one message."""

    def __init__(self) -> None:
        self.extensions = 0
        self.deleted = 0

    def get_queue_url(self, **_: Any) -> dict[str, str]:
        return {"QueueUrl": "https://queue.test/"}

    def receive_message(self, **_: Any) -> dict[str, Any]:
        return {"Messages": [MESSAGE]}

    def change_message_visibility_batch(self, **_: Any) -> None:
        self.extensions += 1

    def delete_message_batch(self, **_: Any) -> None:
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
