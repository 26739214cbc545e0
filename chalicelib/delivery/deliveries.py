"""Tell from the journal how messages were delivered, before the events of that are recorded.

A unit's events are emitted when all its messages were attempted, which takes minutes where a mail
host is slow. Opens, complaints and late bounces of the others come before that.
"""

from __future__ import annotations

from dataclasses import dataclass

from chalicelib.core.message_event import RouteFields
from chalicelib.delivery.outcome import Delivered, Outcome, from_dict
from chalicelib.delivery.store import journal
from chalicelib.delivery.store.journal_files import Entry
from chalicelib.delivery.store.work_units import WorkUnit


@dataclass(frozen=True, slots=True)
class Delivery:
    """How a message was delivered: the fields of its route, when, and after how many retries.

    ``route`` has ``ip_pool``, and ``sending_ip`` if it is known (spec 2.11).
    """

    route: RouteFields
    at_ms: int
    retries: int


def route_fields(entry: Entry, outcome: Outcome) -> RouteFields:
    """Return the fields of an event that tell by which address and pool its message left."""
    fields: RouteFields = {}
    if outcome.sending_ip:
        fields["sending_ip"] = outcome.sending_ip
    # The pool's own address counts: behind it there may be another one that nobody else sees
    return fields | entry.get("route", {})


def of_unit(transmission_id: str, name: str) -> dict[int, Delivery]:
    """Return the deliveries of a unit's messages by recipient index.

    It is the unit that they were generated in; they may have been delivered in a later one. Takes
    one request, or two for a transmission's only message.
    """
    deliveries: dict[int, Delivery] = {}
    for unit, index, entry in journal.entries_of_chunk(WorkUnit(transmission_id, name)):
        outcome = from_dict(entry["outcome"])
        if isinstance(outcome, Delivered):
            route = route_fields(entry, outcome)
            deliveries[index] = Delivery(route, entry["at"], unit.retries)
    return deliveries
