"""Serve ``/suppression-list`` (spec 4.8). Errors carry a message and no code."""

from __future__ import annotations

from urllib.parse import quote

from chalicelib.core.errors import TooLarge, bare_errors
from chalicelib.core.http import Reply, Request, Routes, empty, ok
from chalicelib.suppression import service
from chalicelib.suppression.removal import remove
from chalicelib.suppression.request import (
    LARGEST_BULK,
    read_bulk,
    read_entries,
    read_removal,
)
from chalicelib.suppression.search import find_page, recipient_page
from chalicelib.suppression.search_request import (
    read_list_id,
    read_paging,
    read_position,
    read_search,
    read_types,
    recipient_binding,
    recipient_links,
    search_links,
)
from chalicelib.suppression.store import counts
from chalicelib.suppression.store.items import parts_in
from chalicelib.suppression.view import entry_view, summary_view

routes = Routes(__name__)

_PATH = "/api/v1/suppression-list"
_GRANT = "suppression_lists/manage"


@routes.put(_PATH, grant=_GRANT)
@bare_errors(coded_only=True)
def load(request: Request) -> Reply:
    """Create or update many entries, all of one list; those of compliance are refused alone."""
    if len(request.raw_body) > LARGEST_BULK:
        raise TooLarge
    scope = request.caller.scope
    entries = read_bulk(request.json())
    refusal = service.load_all(scope.account_id, scope.owner, entries)
    results = {"message": "Suppression List successfully updated"}
    return ok(results, errors=refusal.errors) if refusal else ok(results)


@routes.get(_PATH, grant=_GRANT)
@bare_errors(coded_only=True)
def find(request: Request) -> Reply:
    """Return one page of a search, ordered by time of update."""
    scope = request.caller.scope
    search = read_search(request.query, scope)
    page = find_page(scope, search)
    return ok(
        [entry_view(entry) for entry in page.entries],
        links=search_links(_PATH, request.query, search, page),
        total_count=page.total,
    )


@routes.get(f"{_PATH}/summary", grant=_GRANT)
def show_summary(request: Request) -> Reply:
    """Return how many entries there are, by source and in total."""
    scope = request.caller.scope
    return ok(summary_view(counts.read(scope.account_id, parts_in(scope)).values()))


@routes.put(f"{_PATH}/{{recipient}}", grant=_GRANT)
@bare_errors(coded_only=True)
def put_entry(request: Request, recipient: str) -> Reply:
    """Create or update an entry."""
    scope = request.caller.scope
    entries = read_entries(recipient, request.json())
    service.put_all(scope.account_id, scope.owner, entries)
    return ok({"message": "Suppression list successfully updated"})


@routes.get(f"{_PATH}/{{recipient}}", grant=_GRANT)
@bare_errors(coded_only=True)
def show_recipient(request: Request, recipient: str) -> Reply:
    """Return the entries of a recipient, the one updated last first; 404 if there are none."""
    scope = request.caller.scope
    types, paging = read_types(request.query), read_paging(request.query)
    binding = recipient_binding(scope, recipient, types)
    after = read_position(paging, binding)
    page = recipient_page(scope, recipient, types, paging, after)
    path = f"{_PATH}/{quote(recipient, safe='@')}"
    return ok(
        [entry_view(entry) for entry in page.entries],
        links=recipient_links(path, request.query, page, binding),
        total_count=page.total,
    )


@routes.delete(f"{_PATH}/{{recipient}}", grant=_GRANT)
@bare_errors(coded_only=True)
def remove_recipient(request: Request, recipient: str) -> Reply:
    """Remove entries of a recipient from one list."""
    scope = request.caller.scope
    types = read_removal(request.json() if request.raw_body.strip() else None)
    list_id = read_list_id(request.query)
    remove(scope.account_id, scope.owner, recipient, types, list_id)
    return empty(204)
