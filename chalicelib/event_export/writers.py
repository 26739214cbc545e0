"""Write events to a target with the requests of its service, as many to a request as it allows.

- EventBridge: an event whose ``detail`` is the JSON; ``source`` is ``postfinch``, and
  ``detail-type`` the type of the event.
- SNS and SQS: a message with the attributes ``type``, ``customer_id`` and ``subaccount_id``, which
  filters see.
- Kinesis: a record whose partition key is the message's id, so that its events stay in order.
- Firehose: a line of a record that holds many.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Final, NamedTuple

from chalicelib.core import caches
from chalicelib.core.json_types import Json
from chalicelib.event_export.targets import ExportTarget

SOURCE: Final = "postfinch"
_KIB: Final = 1024
#: Bytes that an entry may take in a request beside its event
_MARGIN: Final = 1024
_ATTRIBUTES: Final = ("type", "customer_id", "subaccount_id")

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ExportEntry:
    """One event, or for Firehose several, as a part of a request; ``lines`` are its events."""

    lines: Sequence[bytes]

    @cached_property
    def event(self) -> Json:
        """The event, for what a service wants to know beside it."""
        event: Json = json.loads(self.lines[0])
        return event

    @property
    def text(self) -> str:
        """The event as JSON."""
        return self.lines[0].decode()

    @property
    def message_id(self) -> str:
        """The id of the message; events without one have their own."""
        return str(self.event.get("message_id") or self.event["event_id"])


#: Sends entries to a target; returns for each whether it was refused
_Send = Callable[[Any, ExportTarget, Sequence[ExportEntry]], list[bool]]


class _Service(NamedTuple):
    """How to write to a service, and the limits of a request and of an entry."""

    send: _Send
    most_entries: int
    most_bytes: int
    entry_bytes: int = 0
    """Bytes up to which events share an entry."""


def write(target: ExportTarget, lines: Sequence[bytes]) -> list[bytes]:
    """Write events, each a line of JSON; return those that the target did not take."""
    service = _SERVICES[target.service]
    rest: list[bytes] = []
    entries = _entries(lines, service.entry_bytes)
    for request in _requests(entries, service):
        try:
            failures = service.send(_client(target.service, target.region), target, request)
        except Exception:
            _log.warning("%s cannot be written to", target.arn, exc_info=True)
            failures = [True] * len(request)
        for entry, failed in zip(request, failures, strict=True):
            if failed:
                rest += entry.lines
    return rest


def _entries(lines: Sequence[bytes], most_bytes: int) -> Iterator[ExportEntry]:
    shared: list[bytes] = []
    size = 0
    for line in lines:
        if shared and size + len(line) > most_bytes:
            yield ExportEntry(shared)
            shared, size = [], 0
        shared.append(line)
        size += len(line) + 1
    if shared:
        yield ExportEntry(shared)


def _requests(entries: Iterator[ExportEntry], service: _Service) -> Iterator[list[ExportEntry]]:
    request: list[ExportEntry] = []
    size = 0
    for entry in entries:
        own = sum(map(len, entry.lines)) + len(entry.lines) + _MARGIN
        if request and (len(request) == service.most_entries or size + own > service.most_bytes):
            yield request
            request, size = [], 0
        request.append(entry)
        size += own
    if request:
        yield request


def _put_events(client: Any, target: ExportTarget, entries: Sequence[ExportEntry]) -> list[bool]:
    response = client.put_events(
        Entries=[
            {
                "EventBusName": target.arn,
                "Source": SOURCE,
                "DetailType": entry.event["type"],
                "Detail": entry.text,
                "Time": int(entry.event["timestamp"]),
            }
            for entry in entries
        ]
    )
    return _with_error_code(response["Entries"])


def _publish(client: Any, target: ExportTarget, entries: Sequence[ExportEntry]) -> list[bool]:
    response = client.publish_batch(
        TopicArn=target.arn,
        PublishBatchRequestEntries=[
            {"Message": entry.text, **_common(target, i, entry)} for i, entry in enumerate(entries)
        ],
    )
    return _with_id(response, len(entries))


def _send_messages(client: Any, target: ExportTarget, entries: Sequence[ExportEntry]) -> list[bool]:
    response = client.send_message_batch(
        QueueUrl=_queue_url(client, target),
        Entries=[
            {"MessageBody": entry.text, **_common(target, i, entry)}
            for i, entry in enumerate(entries)
        ],
    )
    return _with_id(response, len(entries))


def _put_records(client: Any, target: ExportTarget, entries: Sequence[ExportEntry]) -> list[bool]:
    response = client.put_records(
        StreamARN=target.arn,
        Records=[
            {"Data": entry.lines[0], "PartitionKey": entry.message_id[:256]} for entry in entries
        ],
    )
    return _with_error_code(response["Records"])


def _put_record_batch(
    client: Any, target: ExportTarget, entries: Sequence[ExportEntry]
) -> list[bool]:
    response = client.put_record_batch(
        DeliveryStreamName=target.name,
        Records=[{"Data": b"".join(line + b"\n" for line in each.lines)} for each in entries],
    )
    return _with_error_code(response["RequestResponses"])


def _common(target: ExportTarget, number: int, entry: ExportEntry) -> Json:
    """Return what SNS and SQS want to know of a message beside its text."""
    values = {name: str(entry.event[name]) for name in _ATTRIBUTES if entry.event.get(name)}
    attributes = {
        name: {"DataType": "String", "StringValue": value} for name, value in values.items()
    }
    fields: Json = {"Id": str(number), "MessageAttributes": attributes}
    if target.is_fifo:
        fields["MessageGroupId"] = entry.message_id[:128]
        fields["MessageDeduplicationId"] = str(entry.event["event_id"])[:128]
    return fields


def _with_error_code(results: Sequence[Mapping[str, Any]]) -> list[bool]:
    return [bool(result.get("ErrorCode")) for result in results]


def _with_id(response: Mapping[str, Any], count: int) -> list[bool]:
    failed = {each["Id"] for each in response.get("Failed", ())}
    return [str(number) in failed for number in range(count)]


@cache
def _client(service: str, region: str) -> Any:
    import boto3

    # Constants: the deployment reads from them which permissions the function needs
    make: dict[str, Callable[[], Any]] = {
        "events": lambda: boto3.client("events", region_name=region),
        "sns": lambda: boto3.client("sns", region_name=region),
        "sqs": lambda: boto3.client("sqs", region_name=region),
        "kinesis": lambda: boto3.client("kinesis", region_name=region),
        "firehose": lambda: boto3.client("firehose", region_name=region),
    }
    return make[service]()


@cache
def _queue_url(client: Any, target: ExportTarget) -> str:
    response = client.get_queue_url(QueueName=target.name, QueueOwnerAWSAccountId=target.account)
    return str(response["QueueUrl"])


@caches.register
def forget_clients() -> None:
    """Forget clients and addresses (tests switch endpoints)."""
    _client.cache_clear()
    _queue_url.cache_clear()


# Firehose bills each record as at least 5 KB, so that events of a message share records
_SERVICES: Final = {
    "events": _Service(_put_events, 10, 256 * _KIB),
    "sns": _Service(_publish, 10, 256 * _KIB),
    "sqs": _Service(_send_messages, 10, 256 * _KIB),
    "kinesis": _Service(_put_records, 500, 5 * _KIB * _KIB),
    "firehose": _Service(_put_record_batch, 500, 4 * _KIB * _KIB, 512 * _KIB),
}
