"""The consumer of the ``ingest`` queue: works off batches.

It may die anywhere and begin again. What it emits is the same each time, and recording takes an
event once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from chalicelib.core import ids, queues, strict_json
from chalicelib.core.blobs import BlobMissing
from chalicelib.core.errors import ServiceError
from chalicelib.core.queues import Received
from chalicelib.events import stream
from chalicelib.events.model import Event
from chalicelib.ingest import batches, failures, model, store
from chalicelib.ingest.batches import Batch
from chalicelib.ingest.failures import Failure, Failures
from chalicelib.tracking.mailbox_providers import mailbox_provider


@dataclass(slots=True)
class Outcome:
    """What became of a batch's events; ``seen`` holds the ids of those that were worked off."""

    succeeded: int = 0
    duplicates: int = 0
    seen: set[int] = field(default_factory=set)
    failures: Failures = field(default_factory=Failures)


def ingest_batch(event: dict[str, Any]) -> dict[str, Any]:
    """Work off the batches of one SQS event; return those messages that failed."""
    return queues.consume(batches.QUEUE, event, queues.one_by_one(_ingest))


def _ingest(message: Received) -> None:
    batch = Batch.of(message)
    try:
        body = message.payload()
    except BlobMissing:  # it waited for longer than the bucket keeps it
        stream.emit([_told(batch, Outcome(), error_type="expired", retryable=True)])
        return
    outcome = Outcome()
    found = _events(batch, body, outcome)
    while some := list(islice(found, store.MOST_TOGETHER)):
        _take(batch, some, outcome)
    if outcome.failures.count:
        outcome.failures.store(batch)
        stream.emit([_told(batch, outcome, error_type="validation", href=failures.link(batch))])
    else:
        stream.emit([_told(batch, outcome)])


def _events(batch: Batch, body: bytes, outcome: Outcome) -> Iterator[Event]:
    """Yield the events of a batch that can be taken, and note the others."""
    for number, line in enumerate(batches.lines(body), 1):
        if not line.strip():
            continue
        try:
            yield _completed(model.read(strict_json.loads(line), batch))
        except (model.Unusable, ServiceError) as fault:
            text = line.decode("utf-8", "replace").strip()
            outcome.failures.add(Failure(number, _reason(fault), text))


def _take(batch: Batch, found: list[Event], outcome: Outcome) -> None:
    """Pass on those events that are new."""
    distinct = {int(event["event_id"]): event for event in reversed(found)}
    fresh = [event for name, event in distinct.items() if name not in outcome.seen]
    outcome.seen.update(distinct)
    new = store.mark_new(batch, fresh[::-1])
    stream.emit(new)
    outcome.succeeded += len(new)
    outcome.duplicates += len(found) - len(new)


def _completed(event: Event) -> Event:
    """Add who hosts the recipient's mailbox, if the event does not say."""
    if "mailbox_provider" in event or "recipient_domain" not in event:
        return event
    host = mailbox_provider(event["recipient_domain"])
    return event | {
        "mailbox_provider": host.provider,
        "mailbox_provider_region": host.region,
    }


def _told(batch: Batch, outcome: Outcome, *, retryable: bool = False, **error: Any) -> Event:
    """Return the event that tells what became of a batch, always the same one."""
    kind = "error" if error else "success"
    owner = {"subaccount_id": str(batch.subaccount_id)} if batch.subaccount_id else {}
    return {
        "type": kind,
        "customer_id": str(batch.account_id),
        **owner,
        "timestamp": batch.taken_ms,
        "event_id": ids.event_id(batch.id, kind),
        "batch_id": batch.id,
        "number_succeeded": outcome.succeeded,
        "number_failed": outcome.failures.count,
        "number_duplicates": outcome.duplicates,
        "retryable": retryable,
        "expiration_timestamp": failures.expiry_ms(batch),
        **error,
    }


def _reason(fault: Exception) -> str:
    if isinstance(fault, ServiceError):
        return str(fault.errors[0].get("description") or fault.errors[0]["message"])
    return str(fault)
