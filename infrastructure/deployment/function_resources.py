"""Write what Chalice's template lacks of a function: role, logs, size and event source."""

from __future__ import annotations

from chalicelib.core.json_types import Json
from infrastructure.deployment import permissions
from infrastructure.deployment.functions import Function, FunctionKind

_NO_VALUE = {"Ref": "AWS::NoValue"}
#: queue → the condition under which its function is called. A source that is enabled asks its queue
#: for messages all the time, and that is billed
_ONLY_IF = {"event-exports": "HasEventTargets", "ses-notifications": "SendsBySes"}
_WITHOUT_CONTAINERS = "delivery"


def template_part(function: Function, resources: Json) -> Json:
    """Return the sizes, role, log group and event source of ``function``."""
    role, logs = f"{function.logical_id}Role", f"{function.logical_id}LogGroup"
    properties: Json = {
        "MemorySize": function.size.memory,
        "Timeout": function.size.timeout,
        "Tracing": {"Ref": "Tracing"},
        "Role": {"Fn::GetAtt": [role, "Arn"]},
        # The lines of a call tell its duration; START, END and REPORT would cost as much again.
        "LoggingConfig": {
            "LogGroup": {"Ref": logs},
            "LogFormat": "JSON",
            "SystemLogLevel": "WARN",
        },
    }
    if function.kind is FunctionKind.QUEUE:
        source = _queue_source(function, resources)
        properties["Events"] = {function.event_id: {"Properties": source}}
    if function.kind is FunctionKind.SCHEDULE:
        # The next call comes within a minute; an old one is not worth repeating.
        properties["EventInvokeConfig"] = {
            "MaximumEventAgeInSeconds": 60,
            "MaximumRetryAttempts": 0,
        }
    part: Json = {
        "Resources": {
            function.logical_id: {"Properties": properties},
            logs: {
                "Type": "AWS::Logs::LogGroup",
                "DeletionPolicy": "Delete",
                "UpdateReplacePolicy": "Retain",
                "Properties": {
                    "LogGroupName": {"Fn::Sub": f"/postfinch/${{Stage}}/{function.name}"},
                    "RetentionInDays": {"Ref": "LogRetention"},
                },
            },
            role: _role(function, resources),
        }
    }
    if function.kind is FunctionKind.QUEUE and not function.concurrency:
        part |= _concurrency(function)
    return part


def _queue_source(function: Function, resources: Json) -> Json:
    queue = queue_id(function.queue, resources)
    source: Json = {
        # Fn::Sub, because Chalice's value is one: of two kinds, the merge would keep both.
        "Queue": {"Fn::Sub": f"${{{queue}.Arn}}"},
        "FunctionResponseTypes": ["ReportBatchItemFailures"],
    }
    if function.queue in _ONLY_IF:
        source["Enabled"] = {"Fn::If": [_ONLY_IF[function.queue], True, False]}
    if function.queue == _WITHOUT_CONTAINERS:
        source["Enabled"] = {"Fn::If": ["DeliversByContainer", False, True]}
    if not function.concurrency:
        limit = {"MaximumConcurrency": {"Ref": f"{function.logical_id}Concurrency"}}
        source["ScalingConfig"] = {"Fn::If": [f"Limits{function.logical_id}", limit, _NO_VALUE]}
    return source


def _concurrency(function: Function) -> Json:
    """Return the parameter that limits how often a queue's function runs at a time."""
    name = f"{function.logical_id}Concurrency"
    return {
        "Parameters": {
            name: {
                "Type": "Number",
                "Default": 0,
                "MaxValue": 1000,
                "Description": f"Most calls of {function.name} at a time, at least 2; 0: no limit",
            }
        },
        "Conditions": {
            f"Limits{function.logical_id}": {"Fn::Not": [{"Fn::Equals": [{"Ref": name}, 0]}]}
        },
    }


def _role(function: Function, resources: Json) -> Json:
    trace = {
        "Effect": "Allow",
        "Action": ["xray:PutTelemetryRecords", "xray:PutTraceSegments"],
        "Resource": "*",
    }
    allowed = permissions.statements(function, resources)
    if target_statement := permissions.target_statement(function):
        allowed.append({"Fn::If": ["HasEventTargets", target_statement, _NO_VALUE]})
    return {
        "Type": "AWS::IAM::Role",
        "Properties": {
            "AssumeRolePolicyDocument": {
                "Version": "2012-10-17",
                "Statement": [
                    {
                        "Effect": "Allow",
                        "Principal": {"Service": "lambda.amazonaws.com"},
                        "Action": "sts:AssumeRole",
                    }
                ],
            },
            "Policies": [
                {
                    "PolicyName": "Access",
                    "PolicyDocument": {
                        "Version": "2012-10-17",
                        "Statement": [*allowed, {"Fn::If": ["IsTraced", trace, _NO_VALUE]}],
                    },
                }
            ],
        },
    }


def queue_id(queue: str, resources: Json) -> str:
    """Return the logical id of a queue by its short name; raises ``ValueError``."""
    name = {"Fn::Sub": f"postfinch-${{Stage}}-{queue}"}
    for logical_id, resource in resources.items():
        if (
            resource.get("Type") == "AWS::SQS::Queue"
            and resource["Properties"]["QueueName"] == name
        ):
            return logical_id
    raise ValueError(f"template.yaml declares no queue {queue}")
