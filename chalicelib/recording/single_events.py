"""Tell events that can happen to a message once from reports that repeat them.

A mail client may post the same unsubscription several times, in several processes at once, a report
may come again by mail, and recipients complain twice. The first of such events that is recorded
counts and is shown; its time is stored. Another one has the same id and another time.

A recipient who unsubscribes again does not want the mail, whatever happened to the entry in the
suppression list meanwhile. So a repeated wish has its effect, but counts in nothing. Reports of
mail hosts have none: anyone who has one of them could send it again.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from chalicelib.core.message_event import Event
from chalicelib.recording import store
from chalicelib.recording.deduplication import recipient_index
from chalicelib.tracking.engagement import UNSUBSCRIPTIONS

_SINGLE: Final = ("out_of_band", "spam_complaint", *UNSUBSCRIPTIONS)


class Division(NamedTuple):
    """Events that may count, and wishes that were recorded before."""

    events: list[Event]
    repeated_wishes: list[Event]


def identity(event: Event) -> tuple[str, int]:
    """Return what tells an event from others: its id, and its time if a report may repeat it.

    A repeated report must not take the place of the first one in a batch.
    """
    return event["event_id"], event["timestamp"] if _is_single(event) else 0


def divide(events: Iterable[Event]) -> Division:
    """Divide events; repeated reports that are no wishes are left out. Takes a write for each id.

    The events must be distinct (``identity``).
    """
    division = Division([], [])
    firsts: dict[str, int] = {}
    for event in events:
        if not _is_single(event) or _time_of_first(event, firsts) == event["timestamp"]:
            division.events.append(event)
        elif event["type"] in UNSUBSCRIPTIONS:
            division.repeated_wishes.append(event)
    return division


def _time_of_first(event: Event, firsts: dict[str, int]) -> int:
    event_id = event["event_id"]
    if event_id not in firsts:
        firsts[event_id] = store.time_of_first(event)
    return firsts[event_id]


def _is_single(event: Event) -> bool:
    """Tell whether the event is one of these types, and of a message of this service."""
    return event["type"] in _SINGLE and recipient_index(event) is not None
