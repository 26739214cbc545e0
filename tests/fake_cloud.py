"""Create the template's resources in the cloud of this process, and inspect that cloud.

Tests read which requests were made, which objects are stored and which messages are on a queue.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from botocore.exceptions import ClientError
from moto.backends import get_backend
from moto.core import DEFAULT_ACCOUNT_ID

from chalicelib.core import aws
from chalicelib.core.settings import settings
from tests.client_calls import Call, observed_calls
from tests.moto_requests import answer_requests

answer_requests()

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


def provide_resources() -> None:
    """Create the tables, queues and bucket of the template in moto's empty cloud.

    The first time they are created by requests. Later tests get copies of those tables and of that
    bucket, which takes a tenth of the time.
    """
    dynamodb, s3, sqs = (_backend(name) for name in ("dynamodb", "s3", "sqs"))
    stage = settings().stage
    if stage not in _empty_resources:
        create_resources()
        _empty_resources[stage] = deepcopy((dynamodb.tables, s3.buckets))
        return
    dynamodb.tables, s3.buckets = deepcopy(_empty_resources[stage])
    for queue in declared("AWS::SQS::Queue"):
        sqs.create_queue(queue["QueueName"])


def tables() -> Any:
    """Return a copy of all tables, for :func:`restore_tables`."""
    return deepcopy(_backend("dynamodb").tables)


def restore_tables(copied: Any) -> None:
    """Let the tables be as they were when they were copied."""
    _backend("dynamodb").tables = deepcopy(copied)


# The tables and buckets by the stage that is part of their names
_empty_resources: dict[str, tuple[Any, Any]] = {}


def _backend(service: str) -> Any:
    partition = "aws" if service == "s3" else os.environ["AWS_DEFAULT_REGION"]
    return get_backend(service)[DEFAULT_ACCOUNT_ID][partition]


def create_resources() -> None:
    """Create the tables, queues and bucket of the template."""
    keys = ("TableName", "AttributeDefinitions", "KeySchema", "GlobalSecondaryIndexes")
    for table in declared("AWS::DynamoDB::Table"):
        arguments: Any = {name: table[name] for name in keys if name in table}
        aws.dynamodb().create_table(**arguments, BillingMode="PAY_PER_REQUEST")
    for queue in declared("AWS::SQS::Queue"):
        aws.sqs().create_queue(QueueName=queue["QueueName"])
    aws.s3().create_bucket(Bucket=settings().bucket_name)


class AwsRequest(NamedTuple):
    """The operation and the parameters of a request that got a response."""

    operation: str
    parameters: dict[str, Any]


@contextmanager
def aws_requests() -> Iterator[list[AwsRequest]]:
    """Collect the calls that the clients of this process make within the block."""
    requests: list[AwsRequest] = []

    def note(_: str, make: Call, operation: str, parameters: dict[str, Any]) -> Any:
        request = AwsRequest(operation, dict(parameters))
        try:
            response = make(operation, parameters)
        except ClientError:
            requests.append(request)
            raise
        requests.append(request)
        return response

    with observed_calls(note):
        yield requests


def stored_objects(prefix: str = "") -> list[str]:
    """Return the keys of the bucket's objects under ``prefix``."""
    objects = aws.s3().list_objects_v2(Bucket=settings().bucket_name, Prefix=prefix)
    return [each["Key"] for each in objects.get("Contents", [])]


def queued(queue: str) -> list[str]:
    """Take all visible messages off a queue; return their bodies."""
    url = aws.sqs().get_queue_url(QueueName=settings().queue(queue))["QueueUrl"]
    bodies: list[str] = []
    at_once = 10
    while len(bodies) % at_once == 0:
        response = aws.sqs().receive_message(QueueUrl=url, MaxNumberOfMessages=at_once)
        messages = response.get("Messages", [])
        if not messages:
            break
        bodies += [message["Body"] for message in messages]
        entries = [
            {"Id": str(i), "ReceiptHandle": message["ReceiptHandle"]}
            for i, message in enumerate(messages)
        ]
        aws.sqs().delete_message_batch(QueueUrl=url, Entries=entries)
    return bodies


def sqs_event(bodies: list[str], receives: int = 1) -> dict[str, Any]:
    """Return the Lambda event for SQS messages with these bodies, received so many times."""
    return {
        "Records": [
            {
                "messageId": f"m-{i}",
                "receiptHandle": f"r-{i}",
                "body": body,
                "attributes": {"ApproximateReceiveCount": str(receives)},
                "messageAttributes": {},
                "eventSource": "aws:sqs",
                "eventSourceARN": "arn:aws:sqs:us-east-1:123456789012:queue",
                "awsRegion": "us-east-1",
            }
            for i, body in enumerate(bodies)
        ]
    }


def queued_work() -> list[str]:
    """Return and delete the messages of small sends, then those of bulk mail."""
    return queued("small-sends") + queued("generation")
