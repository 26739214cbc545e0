from __future__ import annotations

import json
import socket
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.unit.infrastructure.clouds import LocalCloud, eventually


@pytest.fixture
def client(local_cloud: LocalCloud) -> Any:
    return local_cloud.client("sqs")


@pytest.fixture
def url(client: Any) -> str:
    return client.create_queue(QueueName="work")["QueueUrl"]


def receive(client: Any, url: str, wait: int) -> list[Any]:
    response = client.receive_message(QueueUrl=url, WaitTimeSeconds=wait, VisibilityTimeout=60)
    return response.get("Messages", [])


@contextmanager
def waiting_receiver(cloud: LocalCloud, url: str) -> Iterator[socket.socket]:
    """A connection that has sent a ReceiveMessage request with a wait of 20 seconds.

    The request is waiting when the block begins: the cloud has since answered later requests.
    """
    body = json.dumps({"QueueUrl": url, "WaitTimeSeconds": 20, "VisibilityTimeout": 60})
    head = (
        f"POST / HTTP/1.1\r\nHost: 127.0.0.1:{cloud.port}\r\n"
        "X-Amz-Target: AmazonSQS.ReceiveMessage\r\nContent-Type: application/x-amz-json-1.0\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", cloud.port), 10) as connection:
        connection.sendall(f"{head}{body}".encode())
        for _ in range(3):
            receive(cloud.client("sqs"), url, wait=0)
        yield connection


def test_a_waiting_receiver_gets_a_message_as_soon_as_it_is_sent(
    local_cloud: LocalCloud, client: Any, url: str
) -> None:
    delays = []
    for i in range(9):
        with waiting_receiver(local_cloud, url) as connection:
            client.send_message(QueueUrl=url, MessageBody=f"number {i}")
            started = time.monotonic()
            response = connection.recv(65_536)
            delays.append(time.monotonic() - started)
            assert b"HTTP/1.1 200" in response
    assert statistics.median(delays) < 0.05


def test_a_delayed_message_comes_when_it_is_due(client: Any, url: str) -> None:
    client.send_message(QueueUrl=url, MessageBody="x", DelaySeconds=1)
    started = time.monotonic()
    assert len(receive(client, url, wait=20)) == 1
    assert 0.9 < time.monotonic() - started < 5


def test_an_empty_queue_answers_when_the_wait_is_over(client: Any, url: str) -> None:
    started = time.monotonic()
    assert receive(client, url, wait=1) == []
    assert 0.9 < time.monotonic() - started < 5


def test_a_receiver_that_hung_up_takes_no_message(
    local_cloud: LocalCloud, client: Any, url: str
) -> None:
    with waiting_receiver(local_cloud, url):
        pass
    receive(client, url, wait=0)
    client.send_message(QueueUrl=url, MessageBody="x")
    eventually(lambda: receive(client, url, wait=1), 5)
