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
from threading import Lock
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

import yaml
from botocore.exceptions import ClientError
from moto import backend_index
from moto.backends import get_backend
from moto.core import DEFAULT_ACCOUNT_ID, responses
from moto.core import models as moto_models
from moto.core.botocore_stubber import BotocoreStubber
from moto.core.serialize import BaseJSONSerializer, ResponseSerializer
from moto.dynamodb.models.dynamo_type import DynamoType
from moto.sqs import models as sqs_models

from chalicelib.core import aws
from chalicelib.core.settings import settings
from tests.client_calls import Call, observed_calls

_one_at_a_time = Lock()
_respond: Any = BotocoreStubber.__call__


def _respond_alone(*arguments: Any, **options: Any) -> Any:
    """Let moto serve one request at a time: a transaction copies tables that others may change."""
    with _one_at_a_time:
        return _respond(*arguments, **options)


BotocoreStubber.__call__ = _respond_alone  # type: ignore[method-assign]

# moto also takes the place of the library `requests`, which takes most of the time of its start
moto_models.RESPONSES_METHODS = []

# moto lists the methods of a class for each request
responses.method_names_from_class = cache(responses.method_names_from_class)

# It also spells each attribute of a queue in lower case, letter by letter, for each request
responses.camelcase_to_underscores = cache(responses.camelcase_to_underscores)
sqs_models.camelcase_to_underscores = cache(sqs_models.camelcase_to_underscores)

# Attribute values that are in a response as they are stored
_PLAIN = frozenset({"S", "N", "BOOL", "NULL", "SS", "NS"})
_serialize_structure: Any = BaseJSONSerializer._serialize_type_structure


def _serialize_plainly(self: Any, serialized: Any, value: Any, shape: Any, key: str) -> None:
    """Write plain attribute values as they are: moto looks for ten members under many names."""
    if shape.name == "AttributeValue" and value:
        value_type, content = (
            (value.type, value.value)
            if isinstance(value, DynamoType)
            else next(iter(value.items()))
        )
        if value_type in _PLAIN:
            self._default_serialize(serialized, {value_type: content}, shape, key)
            return
    _serialize_structure(self, serialized, value, shape, key)


BaseJSONSerializer._serialize_type_structure = _serialize_plainly  # type: ignore[method-assign]

_get_value: Any = ResponseSerializer.get_value


def _get_value_plainly(self: Any, value: Any, key: str, shape: Any) -> Any:
    """Return a member of a response that has its own name: moto looks under many others too."""
    if type(value) is dict and key in value and not self._value_picker.response_transformers:
        return value[key]
    return _get_value(self, value, key, shape)


ResponseSerializer.get_value = _get_value_plainly  # type: ignore[method-assign]

# moto compares the address of each request with those of some three hundred services, in this order
_SERVICES = ("dynamodb", "sqs", "s3", "kms")
backend_index.backend_url_patterns.sort(key=lambda each: each[0] not in _SERVICES)

# Fifty-two random letters for each request, which nobody reads
responses.gen_amzn_requestid_long = lambda headers: headers.update({"x-amzn-requestid": "r"}) or "r"


def _no_form(text: str, **options: Any) -> list[tuple[str, str]]:
    """Parse a form, unless the text is JSON, in which moto looks for one."""
    return [] if text.startswith("{") else parse_qsl(text, **options)


responses.parse_qsl = _no_form

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
    _refuse_long_keys(aws.dynamodb())


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


def queued_work() -> list[str]:
    """Return and delete the messages of small sends, then those of bulk mail."""
    return queued("small-sends") + queued("generation")
