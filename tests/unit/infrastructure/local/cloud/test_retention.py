from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.unit.infrastructure.clouds import LocalCloud

DAY = 86_400


@pytest.fixture
def cloud(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalCloud]:
    monkeypatch.setitem(os.environ, "COUNT_REQUESTS", "1")
    cloud = LocalCloud(tmp_path / "cloud")
    cloud.start()
    yield cloud
    cloud.close()


def expire(cloud: LocalCloud, now: float) -> int:
    return int(cloud.get(f"/_postfinch/expire?now={now}")["removed"])


def make_table(client: Any) -> None:
    client.create_table(
        TableName="table",
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )


def put(client: Any, pk: str, seconds: float) -> None:
    at = {"N": str(int(time.time() + seconds))}
    client.put_item(TableName="table", Item={"pk": {"S": pk}, "expires": at})


def test_items_expire_also_those_of_before_the_setting_and_of_before_a_restart(
    cloud: LocalCloud,
) -> None:
    client = cloud.client("dynamodb")
    make_table(client)
    put(client, "early", 100)
    ttl = {"Enabled": True, "AttributeName": "expires"}
    client.update_time_to_live(TableName="table", TimeToLiveSpecification=ttl)
    put(client, "late", 100)
    put(client, "later", 10_000)
    cloud.stop()
    cloud.start()
    client = cloud.client("dynamodb")
    assert expire(cloud, time.time()) == 0
    assert expire(cloud, time.time() + 200) == 2
    assert [each["pk"]["S"] for each in client.scan(TableName="table")["Items"]] == ["later"]


def test_messages_of_a_queue_that_nobody_receives_from_expire(cloud: LocalCloud) -> None:
    client = cloud.client("sqs")
    attributes = {"MessageRetentionPeriod": str(DAY)}
    url = client.create_queue(QueueName="dead", Attributes=attributes)["QueueUrl"]
    client.send_message(QueueUrl=url, MessageBody="body")
    assert expire(cloud, time.time() + DAY - 60) == 0
    assert expire(cloud, time.time() + DAY + 60) == 1


def test_objects_expire_by_the_rules_of_the_bucket_in_a_stack(cloud: LocalCloud) -> None:
    rule = {"Id": "q", "Prefix": "queue/", "Status": "Enabled", "ExpirationInDays": 2}
    bucket = {
        "Type": "AWS::S3::Bucket",
        "Properties": {"BucketName": "bucket", "LifecycleConfiguration": {"Rules": [rule]}},
    }
    template = json.dumps({"Resources": {"Bucket": bucket}})
    formation = cloud.client("cloudformation")
    formation.create_stack(StackName="stack", TemplateBody=template)
    formation.get_waiter("stack_create_complete").wait(
        StackName="stack", WaiterConfig={"Delay": 0.05, "MaxAttempts": 100}
    )
    client = cloud.client("s3")
    client.put_object(Bucket="bucket", Key="queue/x", Body=b"1")
    client.put_object(Bucket="bucket", Key="other/x", Body=b"2")
    assert expire(cloud, time.time() + DAY) == 0
    assert expire(cloud, time.time() + 3 * DAY) == 1
    assert [each["Key"] for each in client.list_objects_v2(Bucket="bucket")["Contents"]] == [
        "other/x"
    ]
