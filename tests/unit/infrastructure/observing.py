"""What code asks of AWS while it works for a function, and what the function's policy allows.

Resources are named as in ``table/postfinch-test-config``; a policy's may end in ``*``.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from fnmatch import fnmatchcase
from types import ModuleType
from typing import Any, NamedTuple

import pytest
from botocore.client import BaseClient

from chalicelib.core import aws
from chalicelib.core.caches import clear_caches
from chalicelib.core.settings import settings

Json = dict[str, Any]

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


def needed(service: str, operation: str, arguments: Mapping[str, Any]) -> Iterator[Permission]:
    """Yield the permissions that AWS asks for a request (its service authorization reference)."""
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
        case _:
            raise AssertionError(f"which permission does {service} {operation} take?")


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
            ((kind, about),) = item.items()
            action = f"dynamodb:{_ACTIONS_OF_TRANSACTIONS[kind]}"
            yield Permission(action, f"table/{about['TableName']}")
    else:
        raise AssertionError(f"which permission does {operation} take?")


def allowed(statements: Iterable[Json], resources: Json) -> set[Permission]:
    """Return what the statements of a policy allow, with the names of the stage of the tests."""
    return {
        Permission(action, _named(resource["Fn::Sub"], resources))
        for statement in statements
        for action in statement["Action"]
        for resource in statement["Resource"]
    }


def _named(arn: str, resources: Json) -> str:
    if arn.startswith("arn:${AWS::Partition}:ses:"):
        return arn.rpartition(":")[2]
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
    """Tell whether a policy allows what is wanted."""
    return any(
        each.action == permission.action and fnmatchcase(permission.resource, each.resource)
        for each in policy
    )


class Observer:
    """Notes which permissions the requests of this process take, by who is at work.

    Whoever begins remembers nothing, as a process that has just started: what it knows already it
    would not ask.
    """

    def __init__(self) -> None:
        self.seen: dict[str, set[Permission]] = {}
        self._at_work: list[str] = []

    @contextmanager
    def working_as(self, name: str) -> Iterator[None]:
        """Note what is asked within the block as ``name``'s."""
        forget_processes_memory()
        self._at_work.append(name)
        try:
            yield
        finally:
            self._at_work.pop()

    def watch(self, patch: pytest.MonkeyPatch) -> None:
        """Note every request from now on."""
        every_client: Any = BaseClient
        call = every_client._make_api_call

        @functools.wraps(call)
        def call_and_note(client: Any, operation: str, arguments: Json) -> Any:
            if self._at_work:
                service = client.meta.service_model.service_name
                seen = self.seen.setdefault(self._at_work[-1], set())
                seen.update(needed(service, operation, arguments))
            return call(client, operation, arguments)

        patch.setattr(every_client, "_make_api_call", call_and_note)


def forget_processes_memory() -> None:
    """Forget all that the modules of the service remember, their clients aside."""
    clear_caches()
    for name, module in list(sys.modules.items()):
        if name.startswith("chalicelib.") and module is not aws:
            for remembering in _caches_of(module):
                remembering.cache_clear()


def _caches_of(module: ModuleType) -> Iterator[Any]:
    return (each for each in vars(module).values() if callable(getattr(each, "cache_clear", None)))
