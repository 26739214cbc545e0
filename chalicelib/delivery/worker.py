"""The consumer of the ``delivery`` queue: each message of a parcel is attempted once.

A parcel may be met twice and a worker may die anywhere. The unit's record lets one worker at a time
work on it, the journal says which of its messages were attempted, and everything that follows from
an attempt (events, the deferred messages' parcel) is derived from the journal, so that doing it
again does the same.
"""

from __future__ import annotations

import logging
from typing import Any

from chalicelib.core import clock, queues
from chalicelib.core.queues import Received
from chalicelib.core.settings import settings
from chalicelib.delivery import accounting, parcel, units
from chalicelib.delivery.attempts import attempt_all
from chalicelib.delivery.journal import Entry, Journal, open_journal
from chalicelib.delivery.parcel import Parcel
from chalicelib.delivery.route import transport
from chalicelib.delivery.units import Claim, Unit
from chalicelib.events import stream

_log = logging.getLogger(__name__)


def deliver_batch(event: dict[str, Any]) -> dict[str, Any]:
    """Deliver the parcels of one SQS batch; return those messages that failed."""
    return queues.consume(parcel.QUEUE, event, deliver)


def deliver(message: Received) -> None:
    """Deliver one parcel: claim it, attempt its messages, account for what came of them."""
    unit = parcel.unit_of(message)
    claim = units.claim(unit)
    if claim is Claim.BUSY:
        queues.send_again(parcel.QUEUE, message, settings().delivery_lease / 4)
        return
    if claim is not Claim.DONE:
        _work_on(unit, parcel.from_received(message), taken_over=claim is Claim.TAKEN_OVER)
    message.discard()


def _work_on(unit: Unit, parcel_: Parcel, *, taken_over: bool) -> None:
    journal = open_journal(unit)
    finished = False
    try:
        before = journal.recorded() if taken_over else {}
        entries = _attempt(unit, parcel_, journal, before)
        _account(parcel_, entries)
        units.finish(unit)
        finished = True
    finally:
        journal.close(finished=finished)


def _attempt(
    unit: Unit, parcel_: Parcel, journal: Journal, before: dict[int, Entry]
) -> dict[int, Entry]:
    """Attempt what was not attempted before; return the entries of all that were attempted."""
    if before:
        _log.info("unit %s: taken over with %d messages attempted", unit, len(before))
    todo = [message for message in parcel_.messages if message.index not in before]
    # Half the lease: what is still under way then has the other half to come to its end
    until = clock.now() + settings().delivery_lease / 2
    return before | attempt_all(transport(), todo, journal, until=until)


def _account(parcel_: Parcel, entries: dict[int, Entry]) -> None:
    """Emit the events of the attempts, then hand on what is still to be delivered."""
    results = accounting.account(parcel_, entries)
    stream.emit(results.events)
    now = clock.now()
    works = [
        parcel.to_work(rest, not_before=now + delay if delay else 0.0, delay=delay)
        for rest, delay in results.rest
    ]
    queues.send(parcel.QUEUE, works)
