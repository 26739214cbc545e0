"""Write a CloudWatch dashboard of the stage: API, queues, functions, tables and relay."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, Final

from chalicelib.core.json_types import Json
from chalicelib.core.logs import NAMESPACE
from infrastructure.deployment.alarms import is_dead_end
from infrastructure.deployment.functions import Function

#: What a widget shows: namespace, name, dimensions in pairs, and options
Metric = list[Any]

_COLUMNS: Final = 24
_HEIGHT: Final = 6
_PERIOD: Final = 60
_STAGE: Final = ("Stage", "${Stage}")
_RELAY_SERVICES: Final = ("submission", "inbound")


def template_part(functions: Iterable[Function], resources: Json) -> Json:
    """Return the dashboard of the functions, and of the queues and tables in ``resources``."""
    rows = [
        _api(),
        _queues(resources),
        _functions([function.logical_id for function in functions]),
        _tables(resources),
        _relay(),
    ]
    body = {"widgets": list(_placed(rows)), "start": "-PT6H"}
    dashboard = {
        "Type": "AWS::CloudWatch::Dashboard",
        "Condition": "HasDashboard",
        "Properties": {
            "DashboardName": {"Fn::Sub": "postfinch-${Stage}"},
            "DashboardBody": {"Fn::Sub": json.dumps(body)},
        },
    }
    return {"Resources": {"StageDashboard": dashboard}}


def _api() -> list[Json]:
    requests: list[Metric] = [
        [NAMESPACE, name, *_STAGE] for name in ("Requests", "Refusals", "Faults")
    ]
    times: list[Metric] = [
        [NAMESPACE, "RequestTime", *_STAGE, {"stat": statistic, "label": statistic}]
        for statistic in ("p50", "p99")
    ]
    return [
        _graph("API: requests, refusals (4xx), faults (5xx)", requests, "Sum"),
        _graph("API: milliseconds for a request", times, "p50"),
    ]


def _queues(resources: Json) -> list[Json]:
    queues = {
        logical_id: is_dead_end(resource)
        for logical_id, resource in resources.items()
        if resource.get("Type") == "AWS::SQS::Queue"
    }
    living = [name for name, is_dead in queues.items() if not is_dead]
    dead = [name for name, is_dead in queues.items() if is_dead]
    visible, oldest = "ApproximateNumberOfMessagesVisible", "ApproximateAgeOfOldestMessage"
    return [
        _graph("Queues: messages that wait", _of_queues(visible, living), "Maximum"),
        _graph("Queues: seconds that the oldest waits", _of_queues(oldest, living), "Maximum"),
        _graph("Dead letters", _of_queues(visible, dead), "Maximum"),
    ]


def _of_queues(name: str, logical_ids: Sequence[str]) -> list[Metric]:
    return [["AWS/SQS", name, "QueueName", f"${{{each}.QueueName}}"] for each in logical_ids]


def _functions(logical_ids: Sequence[str]) -> list[Json]:
    def metrics(name: str) -> list[Metric]:
        return [["AWS/Lambda", name, "FunctionName", f"${{{each}}}"] for each in logical_ids]

    return [
        _graph("Functions: calls", metrics("Invocations"), "Sum"),
        _graph("Functions: errors", metrics("Errors"), "Sum"),
        _graph("Functions: throttled calls", metrics("Throttles"), "Sum"),
        _graph("Functions: milliseconds, p99", metrics("Duration"), "p99"),
        _graph("Functions: in flight", metrics("ConcurrentExecutions"), "Maximum"),
    ]


def _tables(resources: Json) -> list[Json]:
    tables = [
        logical_id
        for logical_id, resource in resources.items()
        if resource.get("Type") == "AWS::DynamoDB::Table"
    ]

    def metrics(*names: str) -> list[Metric]:
        return [
            ["AWS/DynamoDB", name, "TableName", f"${{{table}}}"]
            for name in names
            for table in tables
        ]

    return [
        _graph("Tables: write units", metrics("ConsumedWriteCapacityUnits"), "Sum"),
        _graph("Tables: read units", metrics("ConsumedReadCapacityUnits"), "Sum"),
        _graph(
            "Tables: throttled requests",
            metrics("WriteThrottleEvents", "ReadThrottleEvents"),
            "Sum",
        ),
    ]


def _relay() -> list[Json]:
    def metrics(*names: str) -> list[Metric]:
        return [
            [NAMESPACE, name, *_STAGE, "Service", service]
            for name in names
            for service in _RELAY_SERVICES
        ]

    messages = metrics("MessagesAccepted", "MessagesRefused", "MessagesDeferred")
    return [
        _graph("Relay: messages", messages, "Sum"),
        _graph("Relay: open connections", metrics("ConnectionsOpen"), "Average"),
        _graph("Relay: milliseconds to accept, median", metrics("MedianAcceptTime"), "Average"),
    ]


def _graph(title: str, metrics: list[Metric], statistic: str) -> Json:
    return {
        "type": "metric",
        "height": _HEIGHT,
        "properties": {
            "title": title,
            "metrics": metrics,
            "stat": statistic,
            "period": _PERIOD,
            "region": "${AWS::Region}",
            "view": "timeSeries",
        },
    }


def _placed(rows: Iterable[list[Json]]) -> Iterable[Json]:
    for number, row in enumerate(rows):
        width = _COLUMNS // len(row)
        for position, widget in enumerate(row):
            yield {**widget, "x": position * width, "y": number * _HEIGHT, "width": width}
