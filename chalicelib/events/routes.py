"""``/events`` (spec 4.10): searches of message events and of ingest events, and what they show."""

from __future__ import annotations

from typing import Any

from chalicelib.core.errors import invalid_params
from chalicelib.core.fields import comma_list
from chalicelib.core.http import PUBLIC, Reply, Request, Routes, ok
from chalicelib.events import documentation, filters, outcomes
from chalicelib.events import search as messages
from chalicelib.events.model import as_search_result
from chalicelib.events.pages import Found

routes = Routes(__name__)


@routes.get("/api/v1/events/message", grant="message_events/view")
def search_message_events(request: Request) -> Reply:
    """Return one page of the account's message events, newest first."""
    caller = request.caller
    return _page(messages.search(caller.account_id, request.query, caller.confined_to))


@routes.get("/api/v1/events/ingest", grant="message_events/view")
def search_ingest_events(request: Request) -> Reply:
    """Return one page of what became of the account's ingested batches, newest first."""
    caller = request.caller
    return _page(outcomes.search(caller.account_id, request.query, caller.confined_to))


@routes.get("/api/v1/events/message/documentation", grant=PUBLIC)
def describe_message_events(request: Request) -> Reply:
    """Return for each type its fields, each with a description and a sample value."""
    return ok([_described(kind) for kind in documentation.SEARCHED])


@routes.get("/api/v1/events/message/samples", grant=PUBLIC)
def show_sample_events(request: Request) -> Reply:
    """Return one sample of each type, or of those that are named."""
    wanted = {filters.event_type("events", each) for each in comma_list(request.query, "events")}
    if foreign := wanted.difference(documentation.SEARCHED):
        raise invalid_params(f"events: {min(foreign)} is no type of message events")
    shown = [kind for kind in documentation.SEARCHED if not wanted or kind in wanted]
    return ok([as_search_result(documentation.sample(kind)) for kind in shown])


def _described(kind: str) -> dict[str, Any]:
    public = as_search_result(documentation.sample(kind))
    fields = {
        name: {"description": field.description, "sampleValue": public[name]}
        for name, field in documentation.described(kind)
    }
    labels = {name: public[name] for name in ("display_name", "event_description")}
    return {**fields, **labels}


def _page(found: Found) -> Reply:
    links = {"next": found.next_link} if found.next_link else {}
    return ok(found.events, total_count=found.total, links=links)
