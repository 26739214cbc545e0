"""Attempt each message of a delivery batch once, and emit the events of the outcomes.

This is the consumer of the ``delivery`` queue. It may get a batch twice, and it may die anywhere:

- the lease on the batch's work unit lets one worker at a time deliver it;
- the journal holds the outcome of each message that was attempted;
- a unit of which no message could be attempted is as it was before, and its queue message waits;
- events and the next batch derive from the journal, so that doing it again does the same.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import NoReturn

from chalicelib.core import clock, queues
from chalicelib.core.message_event import Event
from chalicelib.core.queue_event import BatchResponse, QueueEvent
from chalicelib.core.queues import Received
from chalicelib.core.settings import settings
from chalicelib.delivery import (
    backlogs,
    delivery_batch,
    delivery_queues,
    delivery_results,
    departures,
)
from chalicelib.delivery.attempts import attempt_all
from chalicelib.delivery.commits import UnitCommits
from chalicelib.delivery.delivery_batch import DeliveryBatch
from chalicelib.delivery.delivery_queues import DeliveryHead
from chalicelib.delivery.delivery_results import Rest
from chalicelib.delivery.departures import Departures
from chalicelib.delivery.lease_holder import LeaseHolder
from chalicelib.delivery.reports import Reports
from chalicelib.delivery.shaping.shaper import shaper
from chalicelib.delivery.store import work_units
from chalicelib.delivery.store.journal import Journal, open_journal
from chalicelib.delivery.store.work_units import (
    LeaseLost,
    LeaseStatus,
    UnitItem,
    UnitLease,
    WorkUnit,
)
from chalicelib.events import stream
from chalicelib.fleet.routing import Route

_log = logging.getLogger(__name__)

# In so many parts a queue message waits for a lease of another worker
_WAITS = 4
_PAUSE_SECONDS = 0.5


class NotAttempted(Exception):
    """No message of the unit could be attempted; it is to be tried after ``delay`` seconds.

    ``paths`` are those for which its messages wait; their events are emitted. ``sending_ips`` are
    those that were chosen for them, by recipient index. ``is_held`` says that they wait for the
    limits of their providers.
    """

    def __init__(
        self,
        delay: float,
        paths: tuple[str, ...],
        sending_ips: Mapping[int, str],
        *,
        is_held: bool,
    ) -> None:
        super().__init__()
        self.delay = delay
        self.is_held = is_held
        self.paths = paths
        self.sending_ips = sending_ips


def deliver_batch(event: QueueEvent, queue: str = delivery_queues.QUEUE) -> BatchResponse:
    """Deliver the batches of one event of ``queue``; return those messages that failed."""
    return queues.consume(queue, event, queues.one_by_one(deliver_unit))


def deliver_unit(message: Received[DeliveryHead]) -> None:
    """Deliver the batch of a queue message, if this worker gets the lease on its unit.

    A unit of bulk mail that waits for its providers' limits is not read before it could leave.
    """
    has_time = not delivery_results.is_expired(message.head["injected_ms"])
    paths = message.head.get("paths", ()) if has_time and not message.head.get("small") else ()
    if wait := min(map(shaper().wait_of, paths), default=0.0):
        delivery_queues.send_again(message, wait, is_held=True)
        return
    unit = delivery_batch.unit_of(message)
    lease = work_units.acquire(
        unit, counts=delivery_batch.counts_of(message), outlasted=_outlasted(message)
    )
    if lease.status is LeaseStatus.BUSY:
        _wait_for(message, lease)
    elif lease.status is not LeaseStatus.COMPLETED:
        with _released_by_a_fault(unit, lease):
            batch = delivery_batch.from_received(message)
        try:
            _deliver_under_lease(batch, lease, Reports())
        except NotAttempted as reason:
            again = _not_attempted(message, batch, reason)
            delivery_queues.send_again(again, reason.delay, is_held=reason.is_held)
        except LeaseLost:
            # Not deleted and not failed: its other worker may rely on it, and may die as well
            _wait_for(message, lease)


def deliver_at_once(
    batch: DeliveryBatch,
    lease: UnitLease,
    reports: Reports | None = None,
    record: UnitItem | None = None,
) -> None:
    """Deliver a batch under the lease on its unit; ``record`` is that of a single message.

    A worker that generated the only chunk of a transmission calls this itself: such messages do not
    wait behind bulk mail, unless they cannot be attempted now.
    """
    try:
        _deliver_under_lease(batch, lease, reports or Reports(), record)
    except NotAttempted as reason:
        messages = delivery_batch.with_sending_ips(batch.messages, reason.sending_ips)
        again = replace(batch, paths=reason.paths, messages=messages)
        delivery_batch.queue(again, delay=reason.delay, is_held=reason.is_held)


def _not_attempted(
    message: Received[DeliveryHead], batch: DeliveryBatch, reason: NotAttempted
) -> Received[DeliveryHead]:
    """Return a queue message with what is new about its unit in its head; the rest stays unread."""
    head: DeliveryHead = {**message.head}
    if reason.paths:
        head["paths"] = list(reason.paths)
    if reason.sending_ips:
        head["sending_ips"] = delivery_batch.runs_of(batch.messages, reason.sending_ips)
    return replace(message, head=head)


def _outlasted(message: Received[DeliveryHead]) -> float | None:
    """Return the end of the lease for which this message has waited as long as leases last."""
    return message.head.get("lease") if message.head.get("waits", 0) > _WAITS else None


def _wait_for(message: Received[DeliveryHead], lease: UnitLease) -> None:
    """Queue a message again while another worker has the lease on its unit."""
    waits = message.head.get("waits", 0) if message.head.get("lease") == lease.expires_at else 0
    head: DeliveryHead = message.head | {"lease": lease.expires_at, "waits": waits + 1}
    again = replace(message, head=head)
    delivery_queues.send_again(again, settings().delivery_lease / _WAITS)


def _deliver_under_lease(
    batch: DeliveryBatch, lease: UnitLease, reports: Reports, record: UnitItem | None = None
) -> None:
    """Attempt the messages of a batch and report their outcomes.

    Raises :class:`NotAttempted` and :class:`LeaseLost`.
    """
    holder = LeaseHolder(batch.unit, lease)
    injections = delivery_results.injections_of(batch)
    write = _outcome_writer(batch, holder, reports, injections, record) if record else None
    journal = open_journal(batch.unit, write)
    commits = UnitCommits(journal, holder.renew)
    completed = False
    try:

        def emit_injections() -> None:
            try:
                stream.emit(injections)
            except Exception:  # they are reported with the outcomes
                _log.exception("unit %s: the events of generation are emitted later", batch.unit)
            else:
                injections.clear()

        planned = Departures()
        if lease.status is LeaseStatus.FIRST:
            planned = _attempt(batch, lease, journal, commits, when_slow=emit_injections)
            if not commits.entries and not planned.elsewhere:
                _hold_back(batch, planned, reports, injections)
                _give_up(batch, holder, commits, planned)
        else:
            _take_over(batch.unit, journal, commits)
        _report(batch, holder, commits, reports, injections, planned, lasts=journal.lasts)
        completed = True
    finally:
        holder.close()
        journal.close(completed=completed)


def _outcome_writer(
    batch: DeliveryBatch,
    holder: LeaseHolder,
    reports: Reports,
    injections: Sequence[Event],
    record: UnitItem,
) -> Callable[[str], None]:
    """Return what records the outcome of a single message, with its events if that is one request.

    ``record`` is what its unit's record holds.
    """

    def write(outcome: str) -> None:
        results = delivery_results.results_of(batch, {0: json.loads(outcome)})
        new_record = work_units.with_outcome(record, holder.lease, outcome)
        if not reports.store([*injections, *results.events], new_record):
            work_units.record_outcome(batch.unit, outcome)

    return write


@contextmanager
def _released_by_a_fault(unit: WorkUnit, lease: UnitLease) -> Iterator[None]:
    """Give back a first lease if the block raises, in which nothing is attempted.

    The unit would otherwise wait for the end of the lease before it is tried again.
    """
    try:
        yield
    except Exception:
        if lease.status is LeaseStatus.FIRST:
            with suppress(Exception):  # what was raised first says more
                work_units.release(unit, lease)
        raise


def _attempt(
    batch: DeliveryBatch,
    lease: UnitLease,
    journal: Journal,
    commits: UnitCommits,
    when_slow: Callable[[], None],
) -> Departures:
    """Attempt the messages without a journal entry that leave here; return how all leave."""
    # Attempts that are under way at this time have the rest of the lease to come to their end
    until = clock.monotonic() + settings().delivery_lease / 4
    with _released_by_a_fault(batch.unit, lease):
        commits.entries |= journal.entries(first=True)
        pending = [message for message in batch.messages if message.index not in commits.entries]
        planned = departures.plan(batch, pending)
    lane = (str(batch.account_id), batch.unit.transmission_id)
    attempt_all(planned.here, commits, until=until, lane=lane, when_slow=when_slow)
    if planned.holds and delivery_results.is_expired(batch.injected_ms):
        return _expire(batch, commits, planned)
    return planned


def _expire(batch: DeliveryBatch, commits: UnitCommits, planned: Departures) -> Departures:
    """End the time of the messages that are held back; return how the others leave."""
    route = Route(batch.event["ip_pool"])
    for index, hold in planned.holds.items():
        commits.add(index, route, delivery_results.expired_in_hold(hold))
    return replace(planned, holds={})


def _take_over(unit: WorkUnit, journal: Journal, commits: UnitCommits) -> None:
    """Read what the worker with the expired lease has sent.

    A worker that takes over sends nothing itself; it only accounts for what the journal says was
    sent. The worker before it may have died after it had queued the rest in a unit of its own.
    Queued once more under the same name, that unit is known.
    """
    commits.entries |= journal.entries(first=False)
    _log.info("unit %s: taken over with %d messages attempted", unit, len(commits.entries))


def _hold_back(
    batch: DeliveryBatch, planned: Departures, reports: Reports, injections: list[Event]
) -> None:
    """Emit the events of messages that wait for long, once: when they wait for the first time."""
    if events := delivery_results.holds_of(batch, planned):
        backlogs.remember(batch, batch.unit, planned)
        reports.emit([*injections, *events])
        injections.clear()


def _give_up(
    batch: DeliveryBatch, holder: LeaseHolder, commits: UnitCommits, planned: Departures
) -> NoReturn:
    """Make the unit as it was before the lease, for another worker or for later."""
    if isinstance(commits.failure, LeaseLost):
        raise commits.failure
    holder.close()
    work_units.release(batch.unit, holder.lease)
    delay = settings().delivery_lease / _WAITS if commits.failure else planned.seconds
    _log.info("unit %s waits for %.0f s: %s", batch.unit, delay, _reason(commits, planned))
    paths = batch.paths or planned.paths
    raise NotAttempted(delay, paths, planned.sending_ips, is_held=bool(planned.holds))


def _reason(commits: UnitCommits, planned: Departures) -> str:
    """Return why no message of a unit was attempted, each reason once."""
    if commits.failure:
        return f"no outcome could be recorded ({commits.failure})"
    return "; ".join(dict.fromkeys(hold.reason for hold in planned.holds.values())) or "no time"


def _report(
    batch: DeliveryBatch,
    holder: LeaseHolder,
    commits: UnitCommits,
    reports: Reports,
    injections: list[Event],
    planned: Departures,
    *,
    lasts: bool,
) -> None:
    """Report the outcomes; if one is in memory only, try until the lease would have ended."""
    lease = holder.lease
    while True:
        commits.record_again()
        try:
            holder.renew()
            results = delivery_results.results_of(batch, commits.entries, planned)
            reports.emit([*injections, *results.events])
            backlogs.move(batch, planned, results.rest)
            _queue_rest(results.rest)
            is_first = holder.lease.status is LeaseStatus.FIRST
            if not (is_first and commits.entries and lasts and not commits.unrecorded):
                reports.complete(batch.unit, batch.counts)
        except Exception as error:
            if isinstance(error, LeaseLost) or not commits.unrecorded or lease.is_over:
                raise
            _log.warning("unit %s is reported again: %s", batch.unit, error)
            time.sleep(_PAUSE_SECONDS)
        else:
            return


def _queue_rest(rest: Sequence[Rest]) -> None:
    """Queue the batches that are still to be delivered."""
    for each in rest:
        _log.info(
            "unit %s: %d messages go on in %.0f s, at attempt %d%s",
            each.batch.unit,
            len(each.batch.messages),
            each.delay,
            each.batch.attempt,
            f", by container {each.container}" if each.container else "",
        )
        delivery_batch.queue(each.batch, each.container, delay=each.delay, is_held=each.is_held)
