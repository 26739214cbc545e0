"""Serve ``/events`` (spec 4.10): the searches of message events and of ingest events."""

from __future__ import annotations

from chalicelib.core.errors import invalid_params
from chalicelib.core.http import PUBLIC, Reply, Request, Routes, ok
from chalicelib.core.query import comma_list
from chalicelib.events import documentation, filters
from chalicelib.events.ingest_search import search_ingests
from chalicelib.events.message_search import search_messages
from chalicelib.events.pages import EventPage
from chalicelib.events.type_counts import count_by_type
from chalicelib.events.view import event_type_view, event_view

routes = Routes(__name__)

_GRANT = "message_events/view"


@routes.get("/api/v1/events/message", grant=_GRANT, subaccount_header=False)
def search_message_events(request: Request) -> Reply:
    """Return one page of the account's message events, newest first."""
    caller = request.caller
    return _reply(search_messages(caller.account_id, request.query, caller.confined_to))


@routes.get("/api/v1/events/message/counts", grant=_GRANT, subaccount_header=False)
def count_message_events(request: Request) -> Reply:
    """Count the events of messages, recipients or transmissions by type, with the same filters."""
    caller = request.caller
    return ok(count_by_type(caller.account_id, request.query, caller.confined_to))


@routes.get("/api/v1/events/ingest", grant=_GRANT, subaccount_header=False)
def search_ingest_events(request: Request) -> Reply:
    """Return one page of the results of the account's ingested batches, newest first."""
    caller = request.caller
    return _reply(search_ingests(caller.account_id, request.query, caller.confined_to))


@routes.get("/api/v1/events/message/documentation", grant=PUBLIC)
def describe_message_events(request: Request) -> Reply:
    """Return the fields of each event type, each with a description and a sample value."""
    return ok([event_type_view(kind) for kind in documentation.SEARCHED])


@routes.get("/api/v1/events/message/samples", grant=PUBLIC)
def show_sample_events(request: Request) -> Reply:
    """Return one sample event of each type, or of the types that ``events`` names."""
    types = {filters.event_type("events", each) for each in comma_list(request.query, "events")}
    if foreign := types - documentation.SEARCHED_TYPES:
        raise invalid_params(f"events: {min(foreign)} is no type of message events")
    kinds = [kind for kind in documentation.SEARCHED if not types or kind in types]
    return ok([event_view(documentation.sample(kind)) for kind in kinds])


def _reply(page: EventPage) -> Reply:
    links = {"next": page.next_link} if page.next_link else {}
    return ok(page.events, total_count=page.total, links=links)
