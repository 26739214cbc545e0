"""Write alarms on what needs a person: dead letters, and schedules that fail again and again."""

from __future__ import annotations

from collections.abc import Iterable

from chalicelib.core.json_types import Json
from infrastructure.deployment.functions import Function, FunctionKind

# An alarm is raised when _FAILURES of _CALLS calls in a row have failed.
_FAILURES = 3
_CALLS = 5


def template_part(functions: Iterable[Function], resources: Json) -> Json:
    """Return an alarm for each dead-letter queue of ``resources`` and for each schedule."""
    alarms: Json = {}
    for logical_id, resource in resources.items():
        if resource.get("Type") == "AWS::SQS::Queue" and is_dead_end(resource):
            alarms[f"{logical_id}Alarm"] = _alarm(
                "Messages that failed again and again lie in a dead-letter queue",
                ("AWS/SQS", "ApproximateNumberOfMessagesVisible", "Maximum"),
                ("QueueName", {"Fn::Sub": f"${{{logical_id}.QueueName}}"}),
                threshold=1,
                period=300,
            )
    for function in functions:
        if function.kind is FunctionKind.SCHEDULE:
            alarms[f"{function.logical_id}Alarm"] = _alarm(
                f"{function.name} fails again and again",
                ("AWS/Lambda", "Errors", "Sum"),
                ("FunctionName", {"Ref": function.logical_id}),
                threshold=_FAILURES,
                period=_CALLS * function.every,
            )
    return {"Resources": alarms}


def is_dead_end(queue: Json) -> bool:
    """Tell whether a queue is one of dead letters."""
    return "RedrivePolicy" not in queue["Properties"]


def _alarm(
    description: str,
    metric: tuple[str, str, str],
    dimension: tuple[str, Json],
    *,
    threshold: int,
    period: int,
) -> Json:
    namespace, metric_name, statistic = metric
    name, value = dimension
    return {
        "Type": "AWS::CloudWatch::Alarm",
        "Properties": {
            "AlarmDescription": description,
            "Namespace": namespace,
            "MetricName": metric_name,
            "Dimensions": [{"Name": name, "Value": value}],
            "Statistic": statistic,
            "Period": period,
            "EvaluationPeriods": 1,
            "Threshold": threshold,
            "ComparisonOperator": "GreaterThanOrEqualToThreshold",
            "TreatMissingData": "notBreaching",
            "AlarmActions": [{"Ref": "AlarmTopic"}],
        },
    }
