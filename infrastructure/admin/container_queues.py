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
    """Create the queues of a container that do not exist; their dead letters are shared."""
    name_of = delivery_queues.name_of
    _create_like(delivery_queues.QUEUE, name_of(container))
    _create_like(delivery_queues.SMALL, name_of(container, small=True))
    _create_like(delivery_queues.HELD, name_of(container, is_held=True))


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
