"""Create the template's resources in the cloud of this process, and inspect that cloud.

Tests read which requests were made, which objects are stored and which messages are on a queue.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from chalicelib.core import aws
from chalicelib.core.settings import settings

TEMPLATE = Path(__file__).parent.parent / "infrastructure" / "template.yaml"


class _Loader(yaml.SafeLoader):
    """YAML with CloudFormation's short forms, read as ``{function: argument}``."""


def _short_form(loader: Any, name: str, node: Any) -> dict[str, Any]:
    if isinstance(node, yaml.ScalarNode):
        return {name: loader.construct_scalar(node)}
    return {name: loader.construct_sequence(node, deep=True)}


_Loader.add_multi_constructor("!", _short_form)


@cache
def _template() -> dict[str, Any]:
    return yaml.load(TEMPLATE.read_text(), Loader=_Loader)


def declared(kind: str) -> list[dict[str, Any]]:
    """Return the properties of every resource of ``kind`` in the template."""
    resources = _template()["Resources"].values()
    return [_resolved(each["Properties"]) for each in resources if each["Type"] == kind]


def _resolved(value: Any) -> Any:
    if isinstance(value, dict):
        if set(value) == {"Sub"}:
            return value["Sub"].replace("${Stage}", settings().stage)
        return {name: _resolved(inner) for name, inner in value.items()}
    return [_resolved(inner) for inner in value] if isinstance(value, list) else value


def create_resources() -> None:
    """Create the tables, queues and bucket of the template."""
    keys = ("TableName", "AttributeDefinitions", "KeySchema", "GlobalSecondaryIndexes")
    for table in declared("AWS::DynamoDB::Table"):
        arguments: Any = {name: table[name] for name in keys if name in table}
        aws.dynamodb().create_table(**arguments, BillingMode="PAY_PER_REQUEST")
    _refuse_long_keys(aws.dynamodb())
    for queue in declared("AWS::SQS::Queue"):
        aws.sqs().create_queue(QueueName=queue["QueueName"])
    aws.s3().create_bucket(Bucket=settings().bucket_name)


def _refuse_long_keys(client: Any) -> None:
    """Refuse keys that DynamoDB refuses, because its fakes accept them."""

    def check(params: dict[str, Any], **_: Any) -> None:
        keys = [params["Key"]] if "Key" in params else []
        for action in params.get("TransactItems", []):
            keys += [each["Key"] for each in action.values() if "Key" in each]
        for table in params.get("RequestItems", {}).values():
            if isinstance(table, dict):
                keys += table["Keys"]
        partition = params.get("ExpressionAttributeValues", {}).get(":pk")
        for key in [*keys, *([{"pk": partition}] if partition else [])]:
            for name, most in (("pk", 2048), ("sk", 1024)):
                assert len(key.get(name, {"S": ""})["S"].encode()) <= most, f"too long: {name}"

    client.meta.events.register("before-parameter-build.dynamodb", check, unique_id="long keys")


class AwsRequest(NamedTuple):
    """The operation and the parameters of a request that got a response."""

    operation: str
    parameters: dict[str, Any]


@contextmanager
def aws_requests() -> Iterator[list[AwsRequest]]:
    """Collect the requests that the clients of this process make within the block."""
    requests: list[AwsRequest] = []

    def note_parameters(params: dict[str, Any], context: dict[str, Any], **_: Any) -> None:
        context["parameters"] = dict(params)

    def note_response(model: Any, context: dict[str, Any], **_: Any) -> None:
        requests.append(AwsRequest(model.name, context["parameters"]))

    clients: list[Any] = [aws.dynamodb(), aws.sqs(), aws.s3()]
    for client in clients:
        client.meta.events.register("before-parameter-build", note_parameters)
        client.meta.events.register("after-call", note_response)
    try:
        yield requests
    finally:
        for client in clients:
            client.meta.events.unregister("before-parameter-build", note_parameters)
            client.meta.events.unregister("after-call", note_response)


def stored_objects(prefix: str = "") -> list[str]:
    """Return the keys of the bucket's objects under ``prefix``."""
    objects = aws.s3().list_objects_v2(Bucket=settings().bucket_name, Prefix=prefix)
    return [each["Key"] for each in objects.get("Contents", [])]


def queued(queue: str) -> list[str]:
    """Take all visible messages off a queue; return their bodies."""
    url = aws.sqs().get_queue_url(QueueName=settings().queue(queue))["QueueUrl"]
    bodies: list[str] = []
    receive = partial(aws.sqs().receive_message, QueueUrl=url, MaxNumberOfMessages=10)
    while messages := receive().get("Messages"):
        for message in messages:
            bodies.append(message["Body"])
            aws.sqs().delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
    return bodies


def sqs_event(bodies: list[str]) -> dict[str, Any]:
    """Return the Lambda event for SQS messages with these bodies."""
    return {
        "Records": [
            {
                "messageId": f"m-{i}",
                "receiptHandle": f"r-{i}",
                "body": body,
                "attributes": {"ApproximateReceiveCount": "1"},
                "messageAttributes": {},
                "eventSource": "aws:sqs",
                "eventSourceARN": "arn:aws:sqs:us-east-1:123456789012:queue",
                "awsRegion": "us-east-1",
            }
            for i, body in enumerate(bodies)
        ]
    }
