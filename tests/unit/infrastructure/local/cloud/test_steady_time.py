from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest
from ministack.services import sqs

from chalicelib.core import clock
from infrastructure.local.cloud.steady_time import SteadyTime

QUEUE = "steady"


@pytest.fixture
def queue_url() -> str:
    sqs._HANDLERS["CreateQueue"]({"QueueName": QUEUE}, "")
    return sqs._HANDLERS["GetQueueUrl"]({"QueueName": QUEUE}, "")["QueueUrl"]


def receive(queue_url: str) -> list[Any]:
    request = {"VisibilityTimeout": 10}
    return asyncio.run(sqs._HANDLERS["ReceiveMessage"](request, queue_url)).get("Messages", [])


def test_messages_come_in_time_when_the_clock_is_set_back(
    queue_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = [100.0]
    wall = time.time()
    with clock.use(lambda: wall, lambda: running[0]):
        monkeypatch.setattr(sqs, "time", SteadyTime())
        sqs._HANDLERS["SendMessage"]({"MessageBody": "late", "DelaySeconds": 5}, queue_url)
        assert receive(queue_url) == []
        monkeypatch.setattr(time, "time", lambda: wall - 3600)
        running[0] += 6
        assert len(receive(queue_url)) == 1
        assert receive(queue_url) == []
        running[0] += 11
        assert len(receive(queue_url)) == 1
