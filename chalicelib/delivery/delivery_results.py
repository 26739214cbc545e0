"""What follows from delivery attempts: the events, and the parcels that are still to go.

Pure: the same parcel and journal entries give the same events with the same ids and times.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from chalicelib.core.bounce_classes import TIMEOUT
from chalicelib.core.retry import Backoff, RetryPolicy
from chalicelib.core.settings import settings
from chalicelib.delivery.delivery_batch import DeliveryBatch, FinishedMessage
from chalicelib.delivery.journal import Entry
from chalicelib.delivery.outcome import Delivered, Failed, Outcome, Retry, from_dict, internal
from chalicelib.events.model import Event, make

_KINDS = {Delivered: "delivery", Retry: "delay", Failed: "bounce"}


@dataclass(frozen=True, slots=True)
class DeliveryResults:
    """The events, and the parcels to send on, each with its delay in seconds."""

    events: list[Event]
    rest: list[tuple[DeliveryBatch, float]]


def account(parcel: DeliveryBatch, entries: dict[int, Entry]) -> DeliveryResults:
    """Account for a parcel; messages without an entry were not reached and go on at once."""
    events: list[Event] = []
    deferred: list[FinishedMessage] = []
    untried: list[FinishedMessage] = []
    delay = 0.0
    for message in parcel.messages:
        entry = entries.get(message.index)
        if entry is None:
            untried.append(message)
            continue
        outcome, wait = _decided(parcel, entry)
        events.append(_event(parcel, message, entry, outcome))
        if isinstance(outcome, Retry):
            deferred.append(message)
            delay = max(delay, wait)
    rest: list[tuple[DeliveryBatch, float]] = []
    if deferred:
        unit, attempt = parcel.unit.deferred, parcel.attempt + 1
        rest.append((replace(parcel, unit=unit, attempt=attempt, messages=deferred), delay))
    if untried:
        rest.append((replace(parcel, unit=parcel.unit.continued, messages=untried), 0.0))
    return DeliveryResults(events, rest)


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
    return Failed(554, text, TIMEOUT, last.ip_address, last.tls, last.sending_ip)


def _decided(parcel: DeliveryBatch, entry: Entry) -> tuple[Outcome, float]:
    """Return the outcome, and the wait if it is a retry; a retry past its time is a failure."""
    outcome = from_dict(entry["outcome"])
    if not isinstance(outcome, Retry):
        return outcome, 0.0
    age = (entry["at"] - parcel.injected_ms) / 1000
    wait = policy().next_delay(parcel.attempt, age, str(parcel.unit))
    return (expired(outcome), 0.0) if wait is None else (outcome, wait)


def _event(
    parcel: DeliveryBatch, message: FinishedMessage, entry: Entry, outcome: Outcome
) -> Event:
    fields: dict[str, Any] = {
        "delv_method": "esmtp",
        "num_retries": str(parcel.attempt - 1),
        "ip_address": outcome.ip_address or "",
    }
    if not isinstance(outcome, Failed):
        # A unit that was forgotten and is generated anew is younger than its journal
        fields["queue_time"] = str(max(0, entry["at"] - parcel.injected_ms))
        fields["outbound_tls"] = "1" if outcome.tls else ""
    if not isinstance(outcome, Delivered):
        reply = f"{outcome.code} {outcome.reply}"
        fields |= {
            "bounce_class": str(outcome.bounce_class),
            "error_code": str(outcome.code),
            "reason": reply,
            "raw_reason": reply,
        }
    sent_from = {"sending_ip": outcome.sending_ip} if outcome.sending_ip else {}
    # The pool's own address counts: behind it there may be another one that nobody else sees
    base = parcel.event_base(message) | sent_from | entry.get("route", {})
    return make(_KINDS[type(outcome)], base, entry["at"], attempt=parcel.attempt, **fields)
