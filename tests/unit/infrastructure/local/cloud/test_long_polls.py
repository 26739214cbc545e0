from __future__ import annotations

import json
import os
import socket
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.cloud_requests import signed_headers
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
    headers = signed_headers(
        "POST",
        f"{cloud.url}/",
        os.environ["AWS_SECRET_ACCESS_KEY"],
        service="sqs",
        body=body.encode(),
        headers={
            "Host": f"127.0.0.1:{cloud.port}",
            "X-Amz-Target": "AmazonSQS.ReceiveMessage",
            "Content-Type": "application/x-amz-json-1.0",
            "Content-Length": str(len(body)),
        },
    )
    fields = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    head = f"POST / HTTP/1.1\r\n{fields}\r\n"
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
    # A receiver that nobody wakes looks again after a second
    assert statistics.median(delays) < 0.5


def test_a_delayed_message_comes_when_it_is_due(client: Any, url: str) -> None:
    client.send_message(QueueUrl=url, MessageBody="x", DelaySeconds=1)
    started = time.monotonic()
    assert len(receive(client, url, wait=20)) == 1
    assert 0.9 < time.monotonic() - started < 15, "it waits for at most 20 s"


def test_an_empty_queue_answers_when_the_wait_is_over(client: Any, url: str) -> None:
    started = time.monotonic()
    assert receive(client, url, wait=1) == []
    assert 0.9 < time.monotonic() - started < 15, "it waits for at most 20 s"


def test_a_receiver_that_hung_up_takes_no_message(
    local_cloud: LocalCloud, client: Any, url: str
) -> None:
    with waiting_receiver(local_cloud, url):
        pass
    receive(client, url, wait=0)
    client.send_message(QueueUrl=url, MessageBody="x")
    assert len(eventually(lambda: receive(client, url, wait=1))) == 1
