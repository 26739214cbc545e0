"""Attempt each message of a delivery batch once, and emit the events of the outcomes.

This is the consumer of the ``delivery`` queue. It may get a batch twice, and it may die anywhere:

- the lease on the batch's work unit lets one worker at a time deliver it;
- the journal holds the outcome of each message that was attempted;
- events and the next batch derive from the journal, so that doing it again does the same.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

from chalicelib.core import clock, queues
from chalicelib.core.queues import Received
from chalicelib.core.settings import settings
from chalicelib.delivery import delivery_batch, delivery_results
from chalicelib.delivery.attempts import attempt_all
from chalicelib.delivery.delivery_batch import DeliveryBatch
from chalicelib.delivery.route import routes_of
from chalicelib.delivery.store import work_units
from chalicelib.delivery.store.journal import Journal, open_journal
from chalicelib.delivery.store.journal_files import Entry
from chalicelib.delivery.store.work_units import Lease, LeaseStatus
from chalicelib.events import stream

_log = logging.getLogger(__name__)


def deliver_batch(event: dict[str, Any]) -> dict[str, Any]:
    """Deliver the batches of one SQS event; return those messages that failed."""
    return queues.consume(delivery_batch.QUEUE, event, queues.one_by_one(deliver))


def deliver(message: Received) -> None:
    """Deliver the batch of a queue message, if this worker gets the lease on its unit."""
    unit = delivery_batch.unit_of(message)
    lease = work_units.acquire(unit, counts=delivery_batch.counts_of(message))
    if lease.status is LeaseStatus.BUSY:
        queues.send_again(delivery_batch.QUEUE, message, settings().delivery_lease / 4)
    elif lease.status is not LeaseStatus.COMPLETED:
        deliver_at_once(delivery_batch.from_received(message), lease)


def deliver_at_once(batch: DeliveryBatch, lease: Lease) -> None:
    """Deliver a batch under the lease on its unit.

    A worker that generated a single message calls this itself: such a message is not worth the way
    through the queue.
    """
    journal = open_journal(batch.unit)
    completed = False
    try:
        injections = delivery_results.injections_of(batch)

        def emit_injections() -> None:
            stream.emit(injections)
            injections.clear()

        entries = _attempt(batch, lease, journal, when_slow=emit_injections)
        work_units.renew(batch.unit, lease)
        results = delivery_results.results_of(batch, entries)
        stream.emit([*injections, *results.events])
        _queue_rest(results.rest)
        if not (lease.status is LeaseStatus.FIRST and entries and journal.lasts):
            work_units.complete(batch.unit, counts=batch.counts)
        completed = True
    finally:
        journal.close(completed=completed)


def _attempt(
    batch: DeliveryBatch, lease: Lease, journal: Journal, when_slow: Callable[[], None]
) -> dict[int, Entry]:
    """Attempt the messages without a journal entry; return the entries of all attempted messages.

    A worker that takes over an expired lease sends nothing itself; it only accounts for what the
    journal says was sent. The worker before it may have died after it had queued the rest in a unit
    of its own. Queued once more under the same name, that unit is known.
    """
    first = lease.status is LeaseStatus.FIRST
    entries = journal.entries(first=first)
    if not first:
        _log.info("unit %s: taken over with %d messages attempted", batch.unit, len(entries))
        return entries
    pending = [message for message in batch.messages if message.index not in entries]
    # Attempts that are under way at this time have the rest of the lease to come to their end
    until = clock.now() + settings().delivery_lease / 4
    routes = routes_of(batch, len(pending))
    return entries | attempt_all(pending, routes, journal, until=until, when_slow=when_slow)


def _queue_rest(rest: Sequence[tuple[DeliveryBatch, float]]) -> None:
    """Queue the batches that are still to be delivered, each with its delay in seconds."""
    now = clock.now()
    works = [
        delivery_batch.to_work(batch, not_before=now + delay if delay else 0.0, delay=delay)
        for batch, delay in rest
    ]
    queues.send(delivery_batch.QUEUE, works)
