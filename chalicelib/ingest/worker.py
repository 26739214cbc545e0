"""Consume the ``ingest`` queue: process batches.

A worker may die anywhere and start again. It emits the same events each time, and recording counts
an event once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice

from chalicelib.core import ids, queues, strict_json
from chalicelib.core.blobs import BlobMissing
from chalicelib.core.errors import ServiceError
from chalicelib.core.json_types import Json
from chalicelib.core.message_event import Event, EventFields
from chalicelib.core.queue_event import BatchResponse, QueueEvent
from chalicelib.core.queues import Received
from chalicelib.events import stream
from chalicelib.ingest import batches, failures, request, store
from chalicelib.ingest.failures import Failure, Failures
from chalicelib.ingest.model import IngestBatch
from chalicelib.tracking.mailbox_providers import mailbox_provider


@dataclass(slots=True)
class Result:
    """The result of a batch so far; ``event_ids`` are those of the events that were processed."""

    succeeded: int = 0
    duplicates: int = 0
    event_ids: set[int] = field(default_factory=set)
    failures: Failures = field(default_factory=Failures)


def ingest_batch(event: QueueEvent) -> BatchResponse:
    """Process the batches of one SQS event; return those messages that failed."""
    return queues.consume(batches.QUEUE, event, queues.one_by_one(_ingest))


def _ingest(message: Received[Json]) -> None:
    batch = IngestBatch(**message.head)
    try:
        body = message.payload()
    except BlobMissing:  # the message waited for longer than the bucket keeps the payload
        stream.emit([_result_event(batch, Result(), {"error_type": "expired", "retryable": True})])
        return
    result = Result()
    events = _events(batch, body, result)
    while group := list(islice(events, store.MOST_TOGETHER)):
        _emit_new(batch, group, result)
    if result.failures.count:
        result.failures.store(batch)
        href = failures.link(batch)
        stream.emit([_result_event(batch, result, {"error_type": "validation", "href": href})])
    else:
        stream.emit([_result_event(batch, result)])


def _events(batch: IngestBatch, body: bytes, result: Result) -> Iterator[Event]:
    """Yield the events of a batch that can be ingested, and add the others to the failures."""
    for number, line in enumerate(batches.lines(body), 1):
        if not line.strip():
            continue
        try:
            yield _with_provider(request.read(strict_json.loads(line), batch))
        except (request.Unusable, ServiceError) as fault:
            text = line.decode("utf-8", "replace").strip()
            result.failures.add(Failure(number, _reason(fault), text))


def _emit_new(batch: IngestBatch, events: list[Event], result: Result) -> None:
    """Emit those events that were not ingested before, and count the others as duplicates."""
    distinct = {int(event["event_id"]): event for event in reversed(events)}
    fresh = [event for name, event in distinct.items() if name not in result.event_ids]
    result.event_ids.update(distinct)
    new = store.mark_new(batch, fresh[::-1])
    stream.emit(new)
    result.succeeded += len(new)
    result.duplicates += len(events) - len(new)


def _with_provider(event: Event) -> Event:
    """Add the recipient's mailbox provider if the event does not have it."""
    if "mailbox_provider" in event or "recipient_domain" not in event:
        return event
    host = mailbox_provider(event["recipient_domain"])
    return event | {
        "mailbox_provider": host.provider,
        "mailbox_provider_region": host.region,
    }


def _result_event(batch: IngestBatch, result: Result, error: EventFields | None = None) -> Event:
    """Return the event with the result of a batch; it is the same each time."""
    kind = "error" if error else "success"
    event: Event = {
        "type": kind,
        "customer_id": str(batch.account_id),
        "timestamp": batch.taken_ms,
        "event_id": ids.event_id(batch.id, kind),
        "batch_id": batch.id,
        "number_succeeded": result.succeeded,
        "number_failed": result.failures.count,
        "number_duplicates": result.duplicates,
        "retryable": False,
        "expiration_timestamp": failures.expiry_ms(batch),
        **(error or {}),
    }
    if batch.subaccount_id:
        event["subaccount_id"] = str(batch.subaccount_id)
    return event


def _reason(fault: Exception) -> str:
    if isinstance(fault, ServiceError):
        return str(fault.errors[0].get("description") or fault.errors[0]["message"])
    return str(fault)
