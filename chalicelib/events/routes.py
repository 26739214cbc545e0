"""``/events/message`` (spec 4.10)."""

from __future__ import annotations

from chalicelib.core.http import Reply, Request, Routes, ok
from chalicelib.events import search

routes = Routes(__name__)


@routes.get("/api/v1/events/message", grant="message_events/view")
def search_message_events(request: Request) -> Reply:
    """Return one page of the account's message events, newest first."""
    wanted = search.read_search(request.query, request.caller.confined_to)
    found = search.run(request.caller.account_id, wanted, request.query)
    links = {"next": found.next_link} if found.next_link else {}
    return ok(found.events, total_count=found.total, links=links)
