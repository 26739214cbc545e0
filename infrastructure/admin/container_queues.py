"""Create the queues of a delivery container, after the example of those that the template declares.

Only the operator may create queues: functions and containers have no permission to.
"""

from __future__ import annotations

from typing import Any

from chalicelib.core import aws
from chalicelib.core.settings import settings
from chalicelib.delivery import delivery_queues

_COPIED = (
    "VisibilityTimeout",
    "ReceiveMessageWaitTimeSeconds",
    "MessageRetentionPeriod",
    "SqsManagedSseEnabled",
    "RedrivePolicy",
)


def create(container: str) -> None:
    """Create both queues of a container, if they do not exist; their dead letters are shared."""
    for small in (False, True):
        example = delivery_queues.SMALL if small else delivery_queues.QUEUE
        _create_like(example, delivery_queues.queue_of(container, small=small))


def _create_like(example: str, queue: str) -> None:
    client: Any = aws.sqs()
    name = settings().queue(queue)
    try:
        client.get_queue_url(QueueName=name)
    except client.exceptions.QueueDoesNotExist:
        url = client.get_queue_url(QueueName=settings().queue(example))["QueueUrl"]
        attributes = client.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
        copied = {key: attributes[key] for key in _COPIED if key in attributes}
        client.create_queue(QueueName=name, Attributes=copied)
