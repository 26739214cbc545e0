"""Check the events and contexts with which the local worker imitates Lambda."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from chalicelib.core import aws
from chalicelib.core.lambda_events import Context, sqs_event
from chalicelib.core.settings import settings


def message(receives: int = 1, **more: Any) -> dict[str, Any]:
    return {
        "MessageId": "m",
        "ReceiptHandle": "r",
        "Body": "text",
        "MD5OfBody": "md5",
        "Attributes": {"ApproximateReceiveCount": str(receives)},
        **more,
    }


def test_an_sqs_event_has_the_form_of_lambdas(
    monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    request.addfinalizer(aws.clear_cache)
    aws.clear_cache()
    attribute = {"StringValue": "v", "DataType": "String"}
    event = sqs_event("events", [message(MessageAttributes={"kind": attribute})])
    assert event == {
        "Records": [
            {
                "messageId": "m",
                "receiptHandle": "r",
                "body": "text",
                "md5OfBody": "md5",
                "attributes": {"ApproximateReceiveCount": "1"},
                "messageAttributes": {"kind": {"stringValue": "v", "dataType": "String"}},
                "eventSource": "aws:sqs",
                "eventSourceARN": "arn:aws:sqs:eu-west-1:000000000000:"
                + settings().queue("events"),
                "awsRegion": "eu-west-1",
            }
        ]
    }


def test_the_context_has_the_remaining_time_and_the_function_arn() -> None:
    context = Context("events")
    remaining_ms: Callable[[], int] = context.get_remaining_time_in_millis
    assert 0 < remaining_ms() <= 900_000
    assert context.invoked_function_arn.endswith(":function:events")
