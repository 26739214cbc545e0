"""The consumer of the ``events`` queue.

The order of steps is what makes recording happen once, although messages come twice and processes
die: steps that may be repeated come first, the one that may not comes last (``commit``), and what
has been through all of them is known to its ledger and passed over.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from chalicelib.ab_tests import engagement as ab_tests
from chalicelib.core import queues
from chalicelib.core.dynamo import Key
from chalicelib.core.queues import Received
from chalicelib.core.reading import Read, Reads, read_ahead
from chalicelib.events import service, stream
from chalicelib.events.model import Event
from chalicelib.metrics.model import PLACEMENTS
from chalicelib.recording import deduplication
from chalicelib.recording.commit import commit
from chalicelib.recording.deduplication import DeduplicationRecord
from chalicelib.recording.suppress import suppress
from chalicelib.recording.unwanted import openers, without_unwanted
from chalicelib.seeding.store.seed_sends import is_seed
from chalicelib.suppression.store import items, lookup_items
from chalicelib.tracking import engagement, message_context
from chalicelib.webhook_dispatch.collect import collect


def record_batch(event: dict[str, Any]) -> dict[str, Any]:
    """Record the events of one SQS batch; return those messages that failed."""
    return queues.consume(stream.QUEUE, event, queues.all_together(_record))


def _record(messages: list[Received]) -> None:
    told = _distinct(event for message in messages for event in stream.decode(message))
    kept, suppressed = _read_ahead(told)
    ledgers = _ledgers(told, kept)
    new = [event for event in told if not ledgers[deduplication.key_of(event)].knows(event)]
    for event in new:
        ledgers[deduplication.key_of(event)].note_route(event)
    completed = engagement.complete(
        new, kept, lambda event: ledgers[deduplication.key_of(event)].route_of(event)
    )
    events = without_unwanted(completed, suppressed)
    service.put_all([event for event in events if not event["type"].startswith("ab_test_")])
    ab_tests.count_events(events)
    suppress(events)
    collect(events)
    commit(events, ledgers)


def _distinct(events: Iterator[Event]) -> list[Event]:
    """Return each event once, without those of seeds, which are nobody's mail."""
    found = {event["event_id"]: event for event in events if not _is_of_seed(event)}
    return list(found.values())


def _is_of_seed(event: Event) -> bool:
    return event["type"] not in PLACEMENTS and is_seed(event)


def _read_ahead(events: Sequence[Event]) -> tuple[Reads, Reads]:
    """Read what is kept of the messages, and who suppresses opens, in one request."""
    kept = Reads(deduplication.table, consistent=True)
    suppressed = Reads(items.table, consistent=False)
    facts_keys = message_context.keys_of(engagement.places_of(events))
    openers_keys = [lookup_items.opens_key(each) for each in openers(events)]
    read_ahead({kept: [*_old_blocks(events), *facts_keys], suppressed: openers_keys})
    return kept, suppressed


def _ledgers(events: Sequence[Event], read: Read) -> Mapping[Key, DeduplicationRecord]:
    """Return the ledgers of events; of blocks that are new in all likelihood, without a look.

    If somebody did record events of such a block, committing finds that out.
    """
    new = {key: DeduplicationRecord(key) for key in map(deduplication.key_of, events)}
    return new | deduplication.read(_old_blocks(events), read)


def _old_blocks(events: Sequence[Event]) -> list[Key]:
    keys = dict.fromkeys(map(deduplication.key_of, events))
    likely_new = {
        deduplication.key_of(event) for event in events if deduplication.begins_block(event)
    }
    return [key for key in keys if key not in likely_new]
