"""Complete the events that react to a message with the address and pool of its delivery.

An open, a click, a complaint comes from the message itself, so it may come before its delivery is
recorded:

- Mostly the deduplication record tells how the message left (``deduplication``).
- While other messages of its chunk are being attempted, the delivery journal tells.
- A mail host may follow links before it accepts a message, and a process may be between the host's
  answer and the journal. Such an event waits on the queue, for ``LONGEST_WAIT`` seconds at most.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from chalicelib.core import clock, ids
from chalicelib.core.message_event import Event, RouteFields
from chalicelib.core.reading import Read
from chalicelib.delivery import deliveries
from chalicelib.events import stream
from chalicelib.recording import store
from chalicelib.recording.commit import Records
from chalicelib.tracking import engagement
from chalicelib.tracking.engagement import OBSERVED
from chalicelib.tracking.store import message_context
from chalicelib.tracking.store.message_context import Context

#: Seconds for which an event waits for the delivery of its message
LONGEST_WAIT: Final = 30.0

_Contexts = Mapping[str, Context]
_Routes = Mapping[str, RouteFields]


def complete(events: Sequence[Event], read: Read, records: Records) -> list[Event]:
    """Return the events; incomplete ones are completed, or queued again to wait for a delivery.

    ``read`` reads the contexts of a hundred work units in one request.
    """
    incomplete = [event for event in events if OBSERVED in event]
    refs = engagement.message_refs(incomplete)
    contexts = message_context.of_messages(refs, read) if refs else {}
    routes = _routes(events, contexts, records)
    early = [e for e in incomplete if e["message_id"] not in routes and _may_wait(e, contexts)]
    if early:
        # Each wait is as long as all before it
        stream.emit(early, delay=max(1.0, min(map(_age, early))))
    early_ids = {event["event_id"] for event in early}
    return [
        _completed(event, contexts, routes) if OBSERVED in event else event
        for event in events
        if event["event_id"] not in early_ids
    ]


def _routes(events: Sequence[Event], contexts: _Contexts, records: Records) -> _Routes:
    """Return how the messages of incomplete events left, by message id, as far as that is known."""
    for event in events:  # a delivery may be in the same batch as the open of its message
        records[store.key_of(event)].add_route(event)
    routes: dict[str, RouteFields] = {
        event["message_id"]: route
        for event in events
        if OBSERVED in event and (route := records[store.key_of(event)].route_of(event))
    }
    return routes | _routes_in_journal(contexts.keys() - routes.keys(), contexts)


def _routes_in_journal(message_ids: Iterable[str], contexts: _Contexts) -> dict[str, RouteFields]:
    """Read the routes of messages whose delivery is not recorded, with one request for a unit."""
    units: dict[tuple[str, str], dict[int, str]] = {}
    for message_id in message_ids:
        transmission_id, index = ids.transmission_of(message_id)
        if unit := contexts[message_id].unit:
            units.setdefault((transmission_id, unit), {})[index] = message_id
    return {
        messages[index]: delivery.route
        for unit, messages in units.items()
        for index, delivery in deliveries.of_unit(*unit).items()
        if index in messages
    }


def _may_wait(event: Event, contexts: _Contexts) -> bool:
    """Tell whether the journal may still get the delivery of an event's message."""
    context = contexts.get(event["message_id"])
    return context is not None and bool(context.unit) and _age(event) < LONGEST_WAIT


def _age(event: Event) -> float:
    """Return the seconds since an event."""
    return (clock.now_ms() - event["timestamp"]) / 1000


def _completed(event: Event, contexts: _Contexts, routes: _Routes) -> Event:
    message_id = event["message_id"]
    context = contexts.get(message_id)
    return engagement.complete(event, context.fields if context else {}, routes.get(message_id, {}))
