from __future__ import annotations

import signal
import threading
from typing import Any

import pytest

from infrastructure.local.supervisor.probes import answers_http
from tests.unit.infrastructure.clouds import LocalCloud, eventually

TABLE = "kept-items"


def make_table(cloud: LocalCloud) -> None:
    cloud.client("dynamodb").create_table(
        TableName=TABLE,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[
            {"AttributeName": "pk", "AttributeType": "S"},
            {"AttributeName": "sk", "AttributeType": "N"},
        ],
        KeySchema=[
            {"AttributeName": "pk", "KeyType": "HASH"},
            {"AttributeName": "sk", "KeyType": "RANGE"},
        ],
    )


def put_pair(client: Any, number: int) -> None:
    """Put one item under each of two partition keys, in one transaction."""
    puts = [
        {
            "Put": {
                "TableName": TABLE,
                "Item": {"pk": {"S": pk}, "sk": {"N": str(number)}, "raw": {"B": b"\x00\xff"}},
            }
        }
        for pk in ("left", "right")
    ]
    client.transact_write_items(TransactItems=puts)


def numbers(cloud: LocalCloud, pk: str) -> list[int]:
    pages = (
        cloud.client("dynamodb")
        .get_paginator("query")
        .paginate(
            TableName=TABLE,
            KeyConditionExpression="pk = :pk",
            ExpressionAttributeValues={":pk": {"S": pk}},
        )
    )
    return [int(item["sk"]["N"]) for page in pages for item in page["Items"]]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_an_orderly_stop_loses_nothing(local_cloud: LocalCloud, number: signal.Signals) -> None:
    make_table(local_cloud)
    client = local_cloud.client("dynamodb")
    for i in range(20):
        put_pair(client, i)
    assert local_cloud.stop(number) == 0
    local_cloud.start()
    assert numbers(local_cloud, "left") == numbers(local_cloud, "right") == list(range(20))


def test_a_message_in_flight_at_a_kill_is_received_again_on_another_port(
    local_cloud: LocalCloud,
) -> None:
    client = local_cloud.client("sqs")
    url = client.create_queue(QueueName="work")["QueueUrl"]
    client.send_message(QueueUrl=url, MessageBody="in flight")
    messages = client.receive_message(QueueUrl=url, VisibilityTimeout=2)["Messages"]
    assert len(messages) == 1
    client.send_message(QueueUrl=url, MessageBody="waiting")
    local_cloud.stop(signal.SIGKILL)
    local_cloud.start()
    client = local_cloud.client("sqs")
    new_url = client.get_queue_url(QueueName="work")["QueueUrl"]
    assert new_url.startswith(local_cloud.url)
    assert client.send_message(QueueUrl=url, MessageBody="to the old address")

    def bodies() -> set[str]:
        response = client.receive_message(
            QueueUrl=new_url, MaxNumberOfMessages=10, WaitTimeSeconds=1
        )
        return {message["Body"] for message in response.get("Messages", [])}

    seen: set[str] = set()
    eventually(lambda: len(seen.update(bodies()) or seen) == 3)
    assert seen == {"in flight", "waiting", "to the old address"}


def test_declarations_are_after_a_kill_as_each_service_answered(local_cloud: LocalCloud) -> None:
    make_table(local_cloud)
    dynamodb, sqs = local_cloud.client("dynamodb"), local_cloud.client("sqs")
    first = sqs.create_queue(QueueName="first")["QueueUrl"]
    sqs.create_queue(QueueName="second")
    local_cloud.client("logs").create_log_group(logGroupName="group")
    sqs.delete_queue(QueueUrl=first)
    expiry = {"AttributeName": "expires", "Enabled": True}
    dynamodb.update_time_to_live(TableName=TABLE, TimeToLiveSpecification=expiry)
    local_cloud.stop(signal.SIGKILL)
    local_cloud.start()
    dynamodb, sqs = local_cloud.client("dynamodb"), local_cloud.client("sqs")
    description = dynamodb.describe_time_to_live(TableName=TABLE)["TimeToLiveDescription"]
    assert description["AttributeName"] == "expires"
    (url,) = sqs.list_queues()["QueueUrls"]
    assert url.endswith("/second")
    (group,) = local_cloud.client("logs").describe_log_groups()["logGroups"]
    assert group["logGroupName"] == "group"


def test_an_object_is_on_disk_when_its_put_request_returns(local_cloud: LocalCloud) -> None:
    client = local_cloud.client("s3")
    client.create_bucket(Bucket="bodies")
    client.put_object(Bucket="bodies", Key="queue/x", Body=b"\x00body")
    local_cloud.stop(signal.SIGKILL)
    local_cloud.start()
    response = local_cloud.client("s3").get_object(Bucket="bodies", Key="queue/x")
    assert response["Body"].read() == b"\x00body"


def test_a_second_cloud_waits_until_the_first_releases_the_data(
    local_cloud: LocalCloud,
) -> None:
    second = LocalCloud(local_cloud.data)
    starting = threading.Thread(target=second.start)
    try:
        starting.start()
        with pytest.raises(AssertionError, match="it never happened"):
            eventually(lambda: answers_http(second.port, "/_ministack/health", (200,)), 1.5)
        make_table(local_cloud)
        local_cloud.stop()
        starting.join()
        assert second.client("dynamodb").list_tables()["TableNames"] == [TABLE]
    finally:
        second.close()
