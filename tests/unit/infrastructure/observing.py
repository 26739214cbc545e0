"""Observe the AWS requests of a function's code, and compare them with the function's policy.

Resources have names like ``table/postfinch-test-config``; in a policy they may end in ``*``.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from fnmatch import fnmatchcase
from types import ModuleType
from typing import Any, NamedTuple

import pytest
from botocore.client import BaseClient

from chalicelib.core import aws
from chalicelib.core.caches import clear_caches
from chalicelib.core.json_types import Json
from chalicelib.core.settings import settings
from tests.unit.event_export.aws_targets import ARNS

_TABLE_READS_AND_WRITES = {"GetItem", "PutItem", "UpdateItem", "DeleteItem"}
_ACTIONS_OF_TRANSACTIONS = {
    "Put": "PutItem",
    "Update": "UpdateItem",
    "Delete": "DeleteItem",
    "ConditionCheck": "ConditionCheckItem",
    "Get": "GetItem",
}


class Permission(NamedTuple):
    """An action on a resource."""

    action: str
    resource: str


def permissions_for(
    service: str, operation: str, arguments: Mapping[str, Any]
) -> Iterator[Permission]:
    """Yield the permissions that a request needs (AWS service authorization reference)."""
    match service:
        case "dynamodb":
            yield from _of_tables(operation, arguments)
        case "sqs":
            name = arguments.get("QueueName") or arguments["QueueUrl"].rpartition("/")[2]
            # One permission covers requests of one message and of several.
            yield Permission(f"sqs:{operation.removesuffix('Batch')}", f"queue/{name}")
        case "s3" if operation in ("GetObject", "PutObject", "DeleteObject"):
            yield Permission(f"s3:{operation}", f"bucket/{arguments['Bucket']}/{arguments['Key']}")
        case "kms" if operation in ("Encrypt", "Decrypt"):
            yield Permission(f"kms:{operation}", "key/SealingKey")
        case "sesv2" if operation == "SendEmail" and "Raw" in arguments["Content"]:
            resources = ["identity/example.test"]
            if "ConfigurationSetName" in arguments:
                resources.append(f"configuration-set/{arguments['ConfigurationSetName']}")
            for resource in resources:
                yield Permission("ses:SendEmail", resource)
                yield Permission("ses:SendRawEmail", resource)
        case "sesv2" if operation.endswith(("EmailIdentity", "Attributes")):
            yield Permission(f"ses:{operation}", f"identity/{arguments['EmailIdentity']}")
            if arguments.get("Tags"):
                yield Permission("ses:TagResource", f"identity/{arguments['EmailIdentity']}")
        case "events" if operation == "PutEvents":
            for entry in arguments["Entries"]:
                yield Permission("events:PutEvents", entry["EventBusName"])
        case "sns" if operation == "PublishBatch":
            yield Permission("sns:Publish", arguments["TopicArn"])
        case "kinesis" if operation == "PutRecords":
            yield Permission("kinesis:PutRecords", arguments["StreamARN"])
        case "firehose" if operation == "PutRecordBatch":
            yield Permission("firehose:PutRecordBatch", arguments["DeliveryStreamName"])
        case _:
            raise AssertionError(f"which permission does {service} {operation} need?")


def _of_tables(operation: str, arguments: Mapping[str, Any]) -> Iterator[Permission]:
    if operation in _TABLE_READS_AND_WRITES:
        yield Permission(f"dynamodb:{operation}", f"table/{arguments['TableName']}")
    elif operation == "Query":
        index = f"/index/{arguments['IndexName']}" if "IndexName" in arguments else ""
        yield Permission("dynamodb:Query", f"table/{arguments['TableName']}{index}")
    elif operation in ("BatchGetItem", "BatchWriteItem"):
        for table in arguments["RequestItems"]:
            yield Permission(f"dynamodb:{operation}", f"table/{table}")
    elif operation in ("TransactWriteItems", "TransactGetItems"):
        for item in arguments["TransactItems"]:
            ((kind, request),) = item.items()
            action = f"dynamodb:{_ACTIONS_OF_TRANSACTIONS[kind]}"
            yield Permission(action, f"table/{request['TableName']}")
    else:
        raise AssertionError(f"which permission does {operation} need?")


def allowed(statements: Iterable[Json], resources: Json) -> set[Permission]:
    """Return the permissions of a policy, with the resource names of the stage ``test``."""
    return {
        Permission(action, name)
        for statement in statements
        for action in statement["Action"]
        for name in _resource_names(statement["Resource"], resources)
    }


def _resource_names(arns: Any, resources: Json) -> list[str]:
    if arns == {"Fn::Split": [",", {"Ref": "EventTargets"}]}:
        names = {"sqs": "queue/mail", "firehose": "mail"}
        return [names.get(service, arn) for service, arn in ARNS.items()]
    return [_resource_name(arn["Fn::Sub"], resources) for arn in arns]


def _resource_name(arn: str, resources: Json) -> str:
    if arn.startswith("arn:${AWS::Partition}:ses:"):
        return arn.rpartition(":")[2]
    if arn.startswith("arn:${AWS::Partition}:sqs:"):
        return f"queue/{arn.rpartition('${Stage}-')[2]}"
    logical_id, _, rest = arn.removeprefix("${").partition(".Arn}")
    if logical_id == "SealingKey":
        return "key/SealingKey"
    if logical_id.endswith("LogGroup"):
        return f"logs/{logical_id}"
    kind = resources[logical_id]["Type"].rpartition("::")[2].lower()
    if kind == "bucket":
        return f"bucket/{settings().bucket_name}{rest}"
    name = resources[logical_id]["Properties"][f"{kind.title()}Name"]["Fn::Sub"]
    return f"{kind}/{name.replace('${Stage}', settings().stage)}{rest}"


def covers(policy: Iterable[Permission], permission: Permission) -> bool:
    """Return whether a policy includes a permission."""
    return any(
        each.action == permission.action and fnmatchcase(permission.resource, each.resource)
        for each in policy
    )


class Observer:
    """Records the permissions that the requests of this process need, by the function at work.

    Each function starts with empty caches, like a new process, so that cached data hide no request.
    """

    def __init__(self) -> None:
        self.seen: dict[str, set[Permission]] = {}
        self._at_work: list[str] = []

    @contextmanager
    def working_as(self, name: str) -> Iterator[None]:
        """Record the requests within the block as those of ``name``."""
        clear_all_caches()
        self._at_work.append(name)
        try:
            yield
        finally:
            self._at_work.pop()

    def watch(self, patch: pytest.MonkeyPatch) -> None:
        """Record every request from now on, of the clients that are there and of later ones."""
        every_client: Any = BaseClient
        call = every_client._make_api_call

        @functools.wraps(call)
        def call_and_record(client: Any, operation: str, arguments: Json) -> Any:
            self._record(client, operation, arguments)
            return call(client, operation, arguments)

        patch.setattr(every_client, "_make_api_call", call_and_record)
        clients: list[Any] = [aws.dynamodb(), aws.sqs()]
        for client in clients:
            patch.setattr(client, "_make_api_call", self._recorded(client))

    def _recorded(self, client: Any) -> Callable[[str, Json], Any]:
        """Return what makes and records the calls of a client whose requests are prepared."""
        call = client._make_api_call

        def call_and_record(operation: str, arguments: Json) -> Any:
            self._record(client, operation, arguments)
            return call(operation, arguments)

        return call_and_record

    def _record(self, client: Any, operation: str, arguments: Json) -> None:
        if self._at_work:
            service = client.meta.service_model.service_name
            seen = self.seen.setdefault(self._at_work[-1], set())
            seen.update(permissions_for(service, operation, arguments))


def clear_all_caches() -> None:
    """Clear the caches of all modules of the service, except AWS clients."""
    clear_caches()
    for name, module in list(sys.modules.items()):
        if name.startswith("chalicelib.") and module is not aws:
            for function in _caches_of(module):
                function.cache_clear()


def _caches_of(module: ModuleType) -> Iterator[Any]:
    return (each for each in vars(module).values() if callable(getattr(each, "cache_clear", None)))
