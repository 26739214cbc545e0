"""Write the IAM policy of each function and of the containers from what they use.

`infrastructure.deployment.function_access` states it. Nothing may scan, make or remove a table or a
queue, or change or delete a line of the audit log.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from chalicelib.core.json_types import Json
from chalicelib.delivery import delivery_queues
from infrastructure.deployment.function_access import (
    DELIVERY_CONTAINER,
    FUNCTIONS,
    RELAY,
    TARGET_ACTIONS,
    Access,
)
from infrastructure.deployment.functions import Function

_TABLE_ACTIONS = [
    "dynamodb:BatchGetItem",
    "dynamodb:BatchWriteItem",
    "dynamodb:ConditionCheckItem",
    "dynamodb:DeleteItem",
    "dynamodb:GetItem",
    "dynamodb:PutItem",
    "dynamodb:Query",
    "dynamodb:UpdateItem",
]
#: Tables of which nothing is changed or deleted, except by its expiry
_APPEND_ONLY = frozenset({"audit"})
_APPEND_ACTIONS = ["dynamodb:PutItem", "dynamodb:Query"]
_CONSUME_ACTIONS = [
    "sqs:ChangeMessageVisibility",
    "sqs:DeleteMessage",
    "sqs:GetQueueAttributes",
    "sqs:GetQueueUrl",
    "sqs:ReceiveMessage",
]


def statements(function: Function, resources: Json) -> list[Json]:
    """Return the statements of the function's policy over the template's ``resources``."""
    allowed = [_logs(function), *_uses(FUNCTIONS[function.name], resources)]
    if function.queue:
        queues = _by_name("AWS::SQS::Queue", "QueueName", resources)
        allowed.append(_allow(_CONSUME_ACTIONS, [_sub(f"${{{queues[function.queue]}.Arn}}")]))
    return allowed


def target_statement(function: Function) -> Json | None:
    """Return the statement about the targets of events, for a stage that has some."""
    actions = sorted(FUNCTIONS[function.name].actions.intersection(TARGET_ACTIONS))
    return _allow(actions, {"Fn::Split": [",", {"Ref": "EventTargets"}]}) if actions else None


def relay_statements(resources: Json) -> list[Json]:
    """Return the statements of the policy of the relay's container."""
    return _uses(RELAY, resources)


def delivery_container_statements(resources: Json) -> list[Json]:
    """Return the statements of the policy of the delivery containers, each with its own queues."""
    queues = _by_name("AWS::SQS::Queue", "QueueName", resources)
    names = (
        delivery_queues.QUEUE,
        delivery_queues.SMALL,
        delivery_queues.HELD,
        f"{delivery_queues.OF_CONTAINERS}*",
    )
    consumed = [_queue_arn(name, queues) for name in names]
    return [*_uses(DELIVERY_CONTAINER, resources), _allow(_CONSUME_ACTIONS, consumed)]


def _uses(used: Access, resources: Json) -> list[Json]:
    tables = _by_name("AWS::DynamoDB::Table", "TableName", resources)
    queues = _by_name("AWS::SQS::Queue", "QueueName", resources)
    allowed: list[Json] = []
    for names, actions in (
        (used.tables - _APPEND_ONLY, _TABLE_ACTIONS),
        (used.tables & _APPEND_ONLY, _APPEND_ACTIONS),
    ):
        if names:
            logical_ids = [tables[name] for name in sorted(names)]
            allowed.append(_allow(actions, _table_arns(logical_ids, resources)))
    if used.queues:
        arns = [_queue_arn(name, queues) for name in sorted(used.queues)]
        allowed.append(_allow(["sqs:GetQueueUrl", "sqs:SendMessage"], arns))
    allowed += _bucket(used.actions) + _key(used.actions)
    if mail := sorted(action for action in used.actions if action.startswith("ses:")):
        ses = "arn:${AWS::Partition}:ses:${AWS::Region}:${AWS::AccountId}:"
        allowed.append(_allow(mail, [_sub(ses + "identity/*"), _sub(ses + "configuration-set/*")]))
    return allowed


def _table_arns(logical_ids: Iterable[str], resources: Json) -> list[Json]:
    """Return the addresses of tables, and then of the indexes that they have."""
    names = list(logical_ids)
    arns = [_sub(f"${{{name}.Arn}}") for name in names]
    indexes = [
        _sub(f"${{{name}.Arn}}/index/*")
        for name in names
        if "GlobalSecondaryIndexes" in resources[name]["Properties"]
    ]
    return arns + indexes


def _queue_arn(name: str, queues: dict[str, str]) -> Json:
    """Return the address of a queue of the template, or of queues whose names begin alike."""
    if name.endswith("*"):
        of_stage = "arn:${AWS::Partition}:sqs:${AWS::Region}:${AWS::AccountId}:postfinch-${Stage}-"
        return _sub(of_stage + name)
    return _sub(f"${{{queues[name]}.Arn}}")


def _logs(function: Function) -> Json:
    arn = _sub(f"${{{function.logical_id}LogGroup.Arn}}")
    return _allow(["logs:CreateLogStream", "logs:PutLogEvents"], [arn])


def _bucket(actions: Collection[str]) -> list[Json]:
    objects = sorted(action for action in actions if action.startswith("s3:"))
    if not objects:
        return []
    allowed = [_allow(objects, [_sub("${Bucket.Arn}/*")])]
    if "s3:GetObject" in objects:
        # Without it S3 answers "forbidden", not "missing", where there is no object.
        allowed.append(_allow(["s3:ListBucket"], [_sub("${Bucket.Arn}")]))
    return allowed


def _key(actions: Collection[str]) -> list[Json]:
    used = sorted(action for action in actions if action.startswith("kms:"))
    return [_allow(used, [_sub("${SealingKey.Arn}")])] if used else []


def _allow(actions: list[str], resources: list[Json] | Json) -> Json:
    return {"Effect": "Allow", "Action": actions, "Resource": resources}


def _sub(text: str) -> Json:
    return {"Fn::Sub": text}


def _by_name(kind: str, name: str, resources: Json) -> dict[str, str]:
    """Return the logical ids of all resources of ``kind`` by their short names."""
    return {
        each["Properties"][name]["Fn::Sub"].removeprefix("postfinch-${Stage}-"): logical_id
        for logical_id, each in resources.items()
        if each.get("Type") == kind
    }
