"""Give types to the event with which Lambda calls the consumer of a queue, and to its response."""

from __future__ import annotations

from typing import NotRequired

from chalicelib.core.typed_dicts import TypedDict


class QueueRecord(TypedDict):
    """One SQS message in the event; ``body`` is what ``core.queues`` wrote."""

    messageId: str
    body: str
    receiptHandle: NotRequired[str]
    md5OfBody: NotRequired[str]
    attributes: NotRequired[dict[str, str]]
    messageAttributes: NotRequired[dict[str, dict[str, str]]]
    eventSource: NotRequired[str]
    eventSourceARN: NotRequired[str]
    awsRegion: NotRequired[str]


class QueueEvent(TypedDict):
    """The messages that one call gets."""

    Records: list[QueueRecord]


class BatchItemFailure(TypedDict):
    """The id of a message that SQS is to show again."""

    itemIdentifier: str


class BatchResponse(TypedDict):
    """Lambda's partial batch response; SQS deletes the messages that it does not name."""

    batchItemFailures: list[BatchItemFailure]
