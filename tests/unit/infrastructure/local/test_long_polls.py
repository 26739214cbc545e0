from __future__ import annotations

import json
import socket
import statistics
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.unit.infrastructure.clouds import LocalCloud, eventually


@pytest.fixture
def url(local_cloud: LocalCloud) -> str:
    return local_cloud.client("sqs").create_queue(QueueName="work")["QueueUrl"]


def receive(cloud: LocalCloud, url: str, wait: int = 10) -> tuple[float, list[Any]]:
    """Return when the answer came, and the messages in it."""
    answer = cloud.client("sqs").receive_message(
        QueueUrl=url, WaitTimeSeconds=wait, VisibilityTimeout=60
    )
    return time.monotonic(), answer.get("Messages", [])


def test_a_waiting_receiver_gets_a_message_as_it_is_sent(local_cloud: LocalCloud, url: str) -> None:
    client = local_cloud.client("sqs")
    delays = []
    with ThreadPoolExecutor(1) as pool:
        for _ in range(7):
            waiting = pool.submit(receive, local_cloud, url)
            assert not waiting.done()
            time.sleep(0.15)
            client.send_message(QueueUrl=url, MessageBody="x")
            sent = time.monotonic()
            at, messages = waiting.result()
            assert len(messages) == 1
            delays.append(at - sent)
    assert statistics.median(delays) < 0.05


def test_a_delayed_message_comes_when_it_is_due(local_cloud: LocalCloud, url: str) -> None:
    local_cloud.client("sqs").send_message(QueueUrl=url, MessageBody="x", DelaySeconds=1)
    sent = time.monotonic()
    at, messages = receive(local_cloud, url)
    assert len(messages) == 1
    assert 0.9 < at - sent < 1.4


def test_an_empty_queue_answers_when_the_wait_is_over(local_cloud: LocalCloud, url: str) -> None:
    asked = time.monotonic()
    at, messages = receive(local_cloud, url, wait=1)
    assert messages == []
    assert 0.9 < at - asked < 1.6


def test_a_receiver_that_hung_up_takes_no_message(local_cloud: LocalCloud, url: str) -> None:
    body = json.dumps({"QueueUrl": url, "WaitTimeSeconds": 20}).encode()
    head = (
        f"POST / HTTP/1.1\r\nHost: 127.0.0.1:{local_cloud.port}\r\n"
        "X-Amz-Target: AmazonSQS.ReceiveMessage\r\nContent-Type: application/x-amz-json-1.0\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", local_cloud.port)) as connection:
        connection.sendall(head.encode() + body)
        # Served in order of arrival, so the receiver waits once this is answered.
        receive(local_cloud, url, wait=0)
    receive(local_cloud, url, wait=0)
    local_cloud.client("sqs").send_message(QueueUrl=url, MessageBody="x")
    eventually(lambda: receive(local_cloud, url, wait=1)[1], 5)
