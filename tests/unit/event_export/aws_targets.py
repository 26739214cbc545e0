"""Make a target of each kind in the simulated AWS, and read what came to it."""

from __future__ import annotations

import json
from typing import Any

import boto3

ACCOUNT = "123456789012"
REGION = "us-east-1"
#: service → the ARN of its target
ARNS = {
    "events": f"arn:aws:events:{REGION}:{ACCOUNT}:event-bus/mail",
    "sns": f"arn:aws:sns:{REGION}:{ACCOUNT}:mail",
    "sqs": f"arn:aws:sqs:{REGION}:{ACCOUNT}:mail",
    "kinesis": f"arn:aws:kinesis:{REGION}:{ACCOUNT}:stream/mail",
    "firehose": f"arn:aws:firehose:{REGION}:{ACCOUNT}:deliverystream/mail",
}
_BUCKET = "mail-archive"
_READER = f"arn:aws:sqs:{REGION}:{ACCOUNT}:reader"


def make_targets() -> None:
    """Make all targets, with queues that show what passes the bus and the topic."""
    sqs = _client("sqs")
    for name in ("mail", "reader"):
        sqs.create_queue(QueueName=name)
    _client("events").create_event_bus(Name="mail")
    rule = {"Name": "all", "EventBusName": "mail"}
    _client("events").put_rule(**rule, EventPattern='{"source": ["postfinch"]}')
    reader = [{"Id": "1", "Arn": _READER}]
    _client("events").put_targets(Rule="all", EventBusName="mail", Targets=reader)
    topic = _client("sns").create_topic(Name="mail")["TopicArn"]
    _client("sns").subscribe(TopicArn=topic, Protocol="sqs", Endpoint=_READER)
    _client("kinesis").create_stream(StreamName="mail", ShardCount=1)
    _client("s3").create_bucket(Bucket=_BUCKET)
    archive = {
        "RoleARN": f"arn:aws:iam::{ACCOUNT}:role/firehose",
        "BucketARN": f"arn:aws:s3:::{_BUCKET}",
    }
    _client("firehose").create_delivery_stream(
        DeliveryStreamName="mail", ExtendedS3DestinationConfiguration=archive
    )


def messages(queue: str) -> list[Any]:
    """Return the messages in a queue, and remove them."""
    url = _client("sqs").get_queue_url(QueueName=queue)["QueueUrl"]
    received: list[Any] = []
    while (
        batch := _client("sqs")
        .receive_message(
            QueueUrl=url,
            MaxNumberOfMessages=10,
            MessageAttributeNames=["All"],
            AttributeNames=["All"],
        )
        .get("Messages")
    ):
        for message in batch:
            _client("sqs").delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
        received += batch
    return received


def events_at(service: str) -> list[Any]:
    """Return the events that came to the target of a service."""
    if service == "sqs":
        return [json.loads(each["Body"]) for each in messages("mail")]
    if service == "sns":
        return [json.loads(json.loads(each["Body"])["Message"]) for each in messages("reader")]
    if service == "events":
        return [json.loads(each["Body"])["detail"] for each in messages("reader")]
    if service == "kinesis":
        return [json.loads(each["Data"]) for each in kinesis_records()]
    s3 = _client("s3")
    keys = [each["Key"] for each in s3.list_objects_v2(Bucket=_BUCKET).get("Contents", ())]
    bodies = [s3.get_object(Bucket=_BUCKET, Key=key)["Body"].read() for key in keys]
    return [json.loads(line) for body in bodies for line in body.splitlines()]


def kinesis_records() -> list[Any]:
    """Return the records of the stream."""
    kinesis = _client("kinesis")
    shard = kinesis.list_shards(StreamName="mail")["Shards"][0]["ShardId"]
    iterator = kinesis.get_shard_iterator(
        StreamName="mail", ShardId=shard, ShardIteratorType="TRIM_HORIZON"
    )["ShardIterator"]
    return list(kinesis.get_records(ShardIterator=iterator)["Records"])


def _client(service: str) -> Any:
    client: Any = boto3.client(service, region_name=REGION)  # type: ignore[call-overload]
    return client
