"""Build the events and contexts with which Lambda calls the functions.

An event has the form that SQS's event source mapping or an EventBridge schedule gives it.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field

from chalicelib.core import aws
from chalicelib.core.json_types import Json
from chalicelib.core.queue_event import QueueEvent, QueueRecord
from chalicelib.core.settings import settings


@dataclass(frozen=True, slots=True)
class Context:
    """The part of Lambda's context object that a handler may look at."""

    function_name: str
    memory_limit_in_mb: int = 512
    aws_request_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    _deadline: float = field(default_factory=lambda: time.monotonic() + 900)

    @property
    def invoked_function_arn(self) -> str:
        """Return the address of the function."""
        return f"arn:aws:lambda:us-east-1:000000000000:function:{self.function_name}"

    def get_remaining_time_in_millis(self) -> int:
        """Return the milliseconds until Lambda would end the call."""
        return int((self._deadline - time.monotonic()) * 1000)


def scheduled_event(name: str) -> Json:
    """Return the event with which a schedule calls its function."""
    return {
        "version": "0",
        "id": str(uuid.uuid4()),
        "account": "000000000000",
        "region": aws.sqs().meta.region_name,
        "detail": {},
        "detail-type": "Scheduled Event",
        "source": "aws.events",
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "resources": [name],
    }


def sqs_event(queue: str, messages: Sequence[Json]) -> QueueEvent:
    """Return ``messages``, as the SQS API gave them, in the form in which Lambda passes them."""
    return {"Records": [_record(queue, message) for message in messages]}


def _record(queue: str, message: Json) -> QueueRecord:
    region = aws.sqs().meta.region_name
    return {
        "messageId": message["MessageId"],
        "receiptHandle": message["ReceiptHandle"],
        "body": message["Body"],
        "md5OfBody": message["MD5OfBody"],
        "attributes": message.get("Attributes", {}),
        "messageAttributes": {
            name: {key[0].lower() + key[1:]: part for key, part in value.items()}
            for name, value in message.get("MessageAttributes", {}).items()
        },
        "eventSource": "aws:sqs",
        "eventSourceARN": f"arn:aws:sqs:{region}:000000000000:{settings().queue(queue)}",
        "awsRegion": region,
    }
