"""What follows from delivery attempts: the events, and the parcels that are still to go.

Pure: the same parcel and journal entries give the same events with the same ids and times.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from chalicelib.core.settings import settings
from chalicelib.delivery import schedule
from chalicelib.delivery.delivery_batch import DeliveryBatch, FinishedMessage
from chalicelib.delivery.journal import Entry
from chalicelib.delivery.outcome import Delivered, Failed, Outcome, Retry, from_dict
from chalicelib.delivery.schedule import RetryPolicy
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
    """Return the retry policy of the settings."""
    given = settings()
    return RetryPolicy(
        base_seconds=given.retry_base,
        factor=given.retry_factor,
        cap_seconds=given.retry_cap,
        expiry_seconds=given.retry_expiry,
    )


def _decided(parcel: DeliveryBatch, entry: Entry) -> tuple[Outcome, float]:
    """Return the outcome, and the wait if it is a retry; a retry past its time is a failure."""
    outcome = from_dict(entry["outcome"])
    if not isinstance(outcome, Retry):
        return outcome, 0.0
    age = (entry["at"] - parcel.injected_ms) / 1000
    wait = schedule.next_delay(parcel.attempt, age, policy(), str(parcel.unit))
    return (schedule.expired(outcome), 0.0) if wait is None else (outcome, wait)


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
