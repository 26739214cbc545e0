"""Kill the cloud under mixed writes, and compare what it answered with what is there afterwards."""

from __future__ import annotations

import functools
import random
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest
from botocore.exceptions import BotoCoreError, ClientError

from tests.unit.infrastructure.clouds import LocalCloud, eventually

TABLE, QUEUE, BUCKET = "table", "queue", "bucket"
KILLS = 4


class Writer:
    """One client that writes with its own name, and remembers what was answered.

    A write that was not answered may be there or not, so it is the last of its kind.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.answers = 0
        # By kind: the numbers that were tried, and those that were answered
        self.tried: Counter[str] = Counter()
        self.answered: Counter[str] = Counter()
        self.messages: set[str] = set()
        self.maybe_messages: set[str] = set()
        self.deleted: set[str] = set()
        self.maybe_deleted: set[str] = set()

    def write_until_it_fails(self, cloud: LocalCloud) -> None:
        clients = {name: cloud.client(name) for name in ("dynamodb", "sqs", "s3")}
        # After a kill: what is there is what the next writes begin with
        with suppress(BotoCoreError, ClientError):
            while True:
                self._write("item", lambda number: put_item(clients["dynamodb"], self.name, number))
                self._write("pair", lambda number: put_pair(clients["dynamodb"], self.name, number))
                self._write("count", lambda number: count(clients["dynamodb"], self.name, number))
                self._write("object", lambda number: put_object(clients["s3"], self.name, number))
                self._send(clients["sqs"])
                self._receive_and_delete(clients["sqs"])

    def _write(self, kind: str, write: Callable[[int], None]) -> None:
        number = self.answered[kind] + 1
        self.tried[kind] = number
        write(number)
        self.answered[kind] = number
        self.answers += 1

    def _send(self, client: Any) -> None:
        bodies = [f"{self.name}-{len(self.maybe_messages) + each}" for each in range(3)]
        self.maybe_messages.update(bodies)
        entries = [{"Id": str(n), "MessageBody": body} for n, body in enumerate(bodies)]
        client.send_message_batch(QueueUrl=url(client), Entries=entries)
        self.messages.update(bodies)
        self.answers += 1

    def _receive_and_delete(self, client: Any) -> None:
        response = client.receive_message(
            QueueUrl=url(client), MaxNumberOfMessages=4, VisibilityTimeout=1
        )
        messages = response.get("Messages", [])
        # One of them stays in flight, and is received again later
        for message in messages[:-1]:
            self.maybe_deleted.add(message["Body"])
            client.delete_message(QueueUrl=url(client), ReceiptHandle=message["ReceiptHandle"])
            self.deleted.add(message["Body"])
            self.answers += 1


def url(client: Any) -> str:
    return f"{client.meta.endpoint_url}/000000000000/{QUEUE}"


def put_item(client: Any, name: str, number: int) -> None:
    item = {"pk": {"S": name}, "sk": {"S": "item"}, "number": {"N": str(number)}}
    client.put_item(TableName=TABLE, Item=item | {"text": {"S": "x" * (number * 37 % 3000)}})


def put_pair(client: Any, name: str, number: int) -> None:
    keys = [{"pk": {"S": f"{name}-{side}"}, "sk": {"S": "pair"}} for side in ("left", "right")]
    puts = [
        {"Put": {"TableName": TABLE, "Item": key | {"number": {"N": str(number)}}}} for key in keys
    ]
    client.transact_write_items(TransactItems=puts)


def count(client: Any, name: str, number: int) -> None:
    """Raise a counter by one; the caller may not know whether it did so already."""
    with suppress(client.exceptions.ConditionalCheckFailedException):
        client.update_item(
            TableName=TABLE,
            Key={"pk": {"S": name}, "sk": {"S": "count"}},
            UpdateExpression="SET #n = :n",
            ConditionExpression="attribute_not_exists(#n) OR #n = :before",
            ExpressionAttributeNames={"#n": "number"},
            ExpressionAttributeValues={":n": {"N": str(number)}, ":before": {"N": str(number - 1)}},
        )


def put_object(client: Any, name: str, number: int) -> None:
    client.put_object(Bucket=BUCKET, Key=f"{name}/{number}", Body=f"{name}-{number}".encode())


def create_resources(cloud: LocalCloud) -> None:
    cloud.client("dynamodb").create_table(
        TableName=TABLE,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[
            {"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk")
        ],
        KeySchema=[
            {"AttributeName": "pk", "KeyType": "HASH"},
            {"AttributeName": "sk", "KeyType": "RANGE"},
        ],
    )
    cloud.client("sqs").create_queue(QueueName=QUEUE)
    cloud.client("s3").create_bucket(Bucket=BUCKET)


def number_at(client: Any, pk: str, sk: str) -> int:
    item = client.get_item(TableName=TABLE, Key={"pk": {"S": pk}, "sk": {"S": sk}}).get("Item")
    return int(item["number"]["N"]) if item else 0


def check(cloud: LocalCloud, writers: list[Writer]) -> None:
    client, s3 = cloud.client("dynamodb"), cloud.client("s3")
    for writer in writers:
        for kind, pk in (
            ("item", writer.name),
            ("pair", f"{writer.name}-left"),
            ("count", writer.name),
        ):
            number = number_at(client, pk, kind)
            assert number in (writer.answered[kind], writer.tried[kind]), (kind, writer.name)
            # What was not answered is known from here on
            writer.answered[kind] = number
        assert number_at(client, f"{writer.name}-right", "pair") == writer.answered["pair"]
        for number in range(1, writer.answered["object"] + 1):
            body = s3.get_object(Bucket=BUCKET, Key=f"{writer.name}/{number}")["Body"].read()
            assert body == f"{writer.name}-{number}".encode()


def remaining(client: Any) -> Iterator[str]:
    """Receive and delete until the queue is empty."""
    names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]

    def is_empty() -> bool:
        attributes = client.get_queue_attributes(QueueUrl=url(client), AttributeNames=names)
        return all(attributes["Attributes"][name] == "0" for name in names)

    while not is_empty():
        response = client.receive_message(
            QueueUrl=url(client), MaxNumberOfMessages=10, WaitTimeSeconds=2
        )
        for message in response.get("Messages", []):
            yield message["Body"]
            client.delete_message(QueueUrl=url(client), ReceiptHandle=message["ReceiptHandle"])


def have_written(writers: list[Writer], answers: int) -> bool:
    return sum(writer.answers for writer in writers) >= answers


def union(sets: Iterator[set[str]]) -> set[str]:
    return set().union(*sets)


@pytest.mark.parametrize("seed", [1, 2])
def test_a_kill_at_any_instant_loses_nothing_that_was_answered(
    local_cloud: LocalCloud, seed: int
) -> None:
    instants = random.Random(seed)
    create_resources(local_cloud)
    writers = [Writer(name) for name in ("ann", "bob", "cid")]
    for _ in range(KILLS):
        threads = [
            threading.Thread(target=writer.write_until_it_fails, args=(local_cloud,))
            for writer in writers
        ]
        for writer in writers:
            writer.answers = 0
        enough = instants.randrange(20, 400)
        for thread in threads:
            thread.start()
        eventually(functools.partial(have_written, writers, enough))
        local_cloud.stop(signal.SIGKILL)
        for thread in threads:
            thread.join()
        local_cloud.start()
        check(local_cloud, writers)
    bodies = Counter(remaining(local_cloud.client("sqs")))
    assert set(bodies.values()) <= {1}, "a message was there twice"
    messages, deleted = union(w.messages for w in writers), union(w.deleted for w in writers)
    assert not bodies.keys() & deleted, "a message that was deleted is there"
    assert messages - union(w.maybe_deleted for w in writers) <= bodies.keys(), "a message was lost"
    assert bodies.keys() <= union(w.maybe_messages for w in writers)
