"""Consume the ``events`` queue.

The order of the steps makes sure that an event is recorded once, although SQS redelivers events and
processes die: the steps that may be repeated come first, the one that may not comes last
(``commit``), and an event that went through all of them is known to its deduplication record and
ignored.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from chalicelib.ab_tests import engagement as ab_tests
from chalicelib.core import queues
from chalicelib.core.dynamo import Key
from chalicelib.core.message_event import Event
from chalicelib.core.queue_event import BatchResponse, QueueEvent
from chalicelib.core.queues import Received
from chalicelib.core.reading import Read, Reads, read_ahead
from chalicelib.event_export import collect as targets
from chalicelib.events import service, stream
from chalicelib.events.stream import EventsHead
from chalicelib.metrics.model import PLACEMENTS
from chalicelib.recording import observers, reactions, store
from chalicelib.recording.commit import Records, commit
from chalicelib.recording.deduplication import DeduplicationRecord, begins_block
from chalicelib.recording.single_events import divide, identity
from chalicelib.recording.suppression import openers, suppress, without_suppressed_opens
from chalicelib.seeding.model import is_seed
from chalicelib.suppression.store import items, lookup_items
from chalicelib.tracking import engagement
from chalicelib.tracking.store import message_context
from chalicelib.webhook_dispatch import collect as webhooks


def record_batch(event: QueueEvent) -> BatchResponse:
    """Record the events of one SQS batch; return those messages that failed."""
    return queues.consume(stream.QUEUE, event, queues.all_together(_record_all))


def record(events: Iterable[Event], *, are_stored: bool = False) -> None:
    """Store events unless they ``are_stored``, apply their effects, and count each one once."""
    events = _distinct(events)
    contexts, suppressions = _read_ahead(events)
    records = _records(events, contexts)
    events, repeated_wishes = divide(events)
    events = reactions.complete(_unrecorded(events, records), contexts, records)
    events = without_suppressed_opens(events, suppressions)
    if not are_stored:
        service.put_all([event for event in events if not event["type"].startswith("ab_test_")])
    ab_tests.count_events(events)
    suppress([*events, *reactions.complete(repeated_wishes, contexts, records)])
    webhooks.collect(events)
    targets.collect(events)
    commit(events, records)
    observers.notify(events)


def _record_all(messages: Iterable[Received[EventsHead]]) -> None:
    record(event for message in messages for event in stream.decode(message))


def _distinct(events: Iterable[Event]) -> list[Event]:
    """Return each event once, without the events of seed messages, which count in nothing."""
    unique = {identity(event): event for event in events if not _is_of_seed(event)}
    return list(unique.values())


def _is_of_seed(event: Event) -> bool:
    return event["type"] not in PLACEMENTS and is_seed(event)


def _read_ahead(events: Sequence[Event]) -> tuple[Reads, Reads]:
    """Read deduplication records, message contexts and suppressed opens in one request."""
    contexts = Reads(store.table, consistent=True)
    suppressions = Reads(items.table, consistent=False)
    context_keys = message_context.keys_of(engagement.message_refs(events))
    read_ahead(
        {
            contexts: [*_old_blocks(events), *context_keys],
            suppressions: [lookup_items.opens_key(recipient) for recipient in openers(events)],
        }
    )
    return contexts, suppressions


def _records(events: Sequence[Event], read: Read) -> Mapping[Key, DeduplicationRecord]:
    """Return the deduplication records of events.

    Records that are probably not stored yet are not read. If one is stored, the commit fails and
    reads it.
    """
    empty = {key: DeduplicationRecord(key) for key in map(store.key_of, events)}
    return empty | store.read(_old_blocks(events), read)


def _old_blocks(events: Sequence[Event]) -> list[Key]:
    keys = dict.fromkeys(map(store.key_of, events))
    likely_new = {store.key_of(event) for event in events if begins_block(event)}
    return [key for key in keys if key not in likely_new]


def _unrecorded(events: Sequence[Event], records: Records) -> list[Event]:
    return [event for event in events if not records[store.key_of(event)].knows(event)]
