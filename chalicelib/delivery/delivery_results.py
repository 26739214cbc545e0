"""Derive the events and the remaining batches from the outcomes of delivery attempts.

Pure: the same batch and journal entries give the same events with the same ids and times.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from chalicelib.core import clock
from chalicelib.core.bounce_classes import TIMEOUT, TRANSIENT_FAILURE
from chalicelib.core.message_event import Event, EventFields
from chalicelib.core.retry import Backoff, RetryPolicy
from chalicelib.core.settings import settings
from chalicelib.delivery.deliveries import route_fields
from chalicelib.delivery.delivery_batch import (
    DeliveryBatch,
    FinishedMessage,
    with_sending_ips,
)
from chalicelib.delivery.departures import Departures
from chalicelib.delivery.outcome import Delivered, Failed, Outcome, Retry, from_dict, internal
from chalicelib.delivery.shaping.shaper import PathHold
from chalicelib.delivery.store.journal_files import Entry
from chalicelib.events.model import make_event
from chalicelib.metrics.model import COUNTS_IN_USAGE

_MOST_STUCK_SECONDS = 300.0
_EVENT_TYPES = {Delivered: "delivery", Retry: "delay", Failed: "bounce"}


@dataclass(frozen=True, slots=True)
class Rest:
    """A batch to queue for a delivery container, to be seen after ``delay`` seconds.

    ``is_held`` says that all its messages wait for the limits of their providers.
    """

    batch: DeliveryBatch
    container: str
    delay: float = 0.0
    is_held: bool = False


@dataclass(frozen=True, slots=True)
class DeliveryResults:
    """The events, and the batches to queue."""

    events: list[Event]
    rest: list[Rest]


def injections_of(batch: DeliveryBatch) -> list[Event]:
    """Return the events of the messages' generation, unless they were emitted before.

    They are stored and counted together with those of the first attempt, which costs less.
    """
    if not batch.unit.is_first or batch.paths:
        return []
    usage: EventFields = {} if batch.counts_at_acceptance else {COUNTS_IN_USAGE: True}
    return [
        make_event("injection", batch.event_base(message), batch.injected_ms, **usage)
        for message in batch.messages
    ]


def results_of(
    batch: DeliveryBatch, entries: dict[int, Entry], departures: Departures | None = None
) -> DeliveryResults:
    """Return the results of the attempts; messages without an entry are queued again at once.

    They go on in one unit, whatever the reason, so that a worker that takes over and does not know
    the ``departures`` queues them under the same name. A message whose delivery is reported later
    has no event yet.
    """
    departures = departures or Departures()
    events: list[Event] = []
    deferred: list[FinishedMessage] = []
    untried: list[FinishedMessage] = []
    delay = 0.0
    for message in batch.messages:
        entry = entries.get(message.index)
        if entry is None:
            untried.append(message)
            continue
        outcome, wait = _outcome(batch, entry)
        if not (isinstance(outcome, Delivered) and outcome.reports_later):
            events.append(_event(batch, message, entry, outcome))
        if isinstance(outcome, Retry):
            # The next attempt counts again for an IP that warms up
            deferred.append(replace(message, sending_ip=""))
            delay = max(delay, wait)
    rest: list[Rest] = []
    if deferred:
        unit, attempt = batch.unit.deferred, batch.attempt + 1
        again = replace(batch, unit=unit, attempt=attempt, messages=deferred, paths=())
        rest.append(Rest(again, settings().delivery_container, delay))
    if untried:
        rest.append(_continuation(batch, untried, departures, is_stuck=not entries))
        events += holds_of(batch, departures)
    return DeliveryResults(events, rest)


def _continuation(
    batch: DeliveryBatch,
    untried: list[FinishedMessage],
    departures: Departures,
    *,
    is_stuck: bool,
) -> Rest:
    """Return the batch of the messages that were not attempted, for who can send some of them.

    ``is_stuck`` says that this container could attempt none of them. If that is for the limits of
    a provider, the next container may be no better off, and the unit must not go to and fro at the
    speed of the queues.
    """
    container = departures.next_container
    if container is None:
        container = settings().delivery_container
    messages = with_sending_ips(untried, departures.sending_ips)
    all_wait = all(message.index in departures.holds for message in untried)
    paths = departures.paths if all_wait else ()
    rest = replace(batch, unit=batch.unit.continued, messages=messages, paths=paths)
    seconds = departures.seconds if all_wait else min(departures.seconds, _MOST_STUCK_SECONDS)
    return Rest(rest, container, seconds if all_wait or is_stuck else 0.0, all_wait)


def holds_of(batch: DeliveryBatch, departures: Departures) -> list[Event]:
    """Return the events of messages that wait for long, unless they were emitted before."""
    if batch.paths:
        return []
    by_path = {hold.path: hold for hold in departures.holds.values()}
    fields = {path: _held_fields(batch, hold, departures.at_ms) for path, hold in by_path.items()}
    return [
        make_event(
            "delay",
            batch.event_base(message),
            departures.at_ms,
            attempt=batch.attempt,
            nonce="held",  # else it would have the id of an attempt's delay
            **fields[hold.path],
        )
        for message in batch.messages
        if (hold := departures.holds.get(message.index)) and hold.lasts
    ]


def policy() -> RetryPolicy:
    """Return when a deferred message is tried again: after 20, 40, 80, ... minutes by default.

    Each delay moves by up to ten per cent, so that messages refused together do not come back
    together.
    """
    current = settings()
    backoff = Backoff(
        base_seconds=current.retry_base,
        factor=current.retry_factor,
        cap_seconds=current.retry_cap,
        jitter=0.1,
    )
    return RetryPolicy(backoff, current.retry_expiry)


def expired(last: Retry) -> Failed:
    """Return the outcome of a message whose time ran out; ``last`` is that of its last attempt."""
    text = internal("5.4.7", f"message timeout, last reply: {last.code} {last.reply}")
    return Failed(554, text, TIMEOUT, last.ip_address, last.tls, last.sending_ip, last.tls_policy)


def is_expired(injected_ms: int) -> bool:
    """Tell whether messages that were generated then may no longer be held back."""
    return clock.now_ms() - injected_ms >= settings().retry_expiry * 1000


def expired_in_hold(hold: PathHold) -> Failed:
    """Return the outcome of a message whose time ran out while it was held back."""
    text = internal("5.4.7", f"message timeout, held back: {hold.reason}")
    return Failed(554, text, TIMEOUT)


def _outcome(batch: DeliveryBatch, entry: Entry) -> tuple[Outcome, float]:
    """Return the outcome, and the wait if it is a retry; a retry past its time is a failure."""
    outcome = from_dict(entry["outcome"])
    if not isinstance(outcome, Retry):
        return outcome, 0.0
    age = (entry["at"] - batch.injected_ms) / 1000
    wait = policy().next_delay(batch.attempt, age, str(batch.unit))
    return (expired(outcome), 0.0) if wait is None else (outcome, wait)


def _held_fields(batch: DeliveryBatch, hold: PathHold, at_ms: int) -> EventFields:
    """Return what the delays of messages that wait for their provider's limits say."""
    reply = f"451 {hold.reason}"
    return {
        "delv_method": "esmtp",
        "num_retries": str(batch.attempt - 1),
        "ip_address": "",
        "queue_time": str(max(0, at_ms - batch.injected_ms)),
        "outbound_tls": "",
        "bounce_class": str(TRANSIENT_FAILURE),
        "error_code": "451",
        "reason": reply,
        "raw_reason": reply,
    }


def _event(batch: DeliveryBatch, message: FinishedMessage, entry: Entry, outcome: Outcome) -> Event:
    fields: EventFields = {
        "delv_method": "esmtp",
        "num_retries": str(batch.attempt - 1),
        "ip_address": outcome.ip_address or "",
    }
    if not isinstance(outcome, Failed):
        # A unit whose record was lost and that is generated again is younger than its journal
        fields["queue_time"] = str(max(0, entry["at"] - batch.injected_ms))
        fields["outbound_tls"] = outcome.tls_policy or ("1" if outcome.tls else "")
    if not isinstance(outcome, Delivered):
        reply = f"{outcome.code} {outcome.reply}"
        fields |= {
            "bounce_class": str(outcome.bounce_class),
            "error_code": str(outcome.code),
            "reason": reply,
            "raw_reason": reply,
        }
    base: EventFields = {**batch.event_base(message), **route_fields(entry, outcome)}
    return make_event(
        _EVENT_TYPES[type(outcome)], base, entry["at"], attempt=batch.attempt, **fields
    )
