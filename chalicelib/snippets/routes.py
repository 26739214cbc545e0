"""Serve ``/api/labs/snippets`` (spec 4.3). Errors carry a message and no code."""

from __future__ import annotations

from chalicelib.core.errors import (
    ApiError,
    Forbidden,
    NotFound,
    bare_errors,
    conflict,
)
from chalicelib.core.fields import boolean
from chalicelib.core.http import Reply, Request, Routes, empty, ok
from chalicelib.core.scope import Scope
from chalicelib.snippets import store
from chalicelib.snippets.request import apply_update, new_snippet, read_update
from chalicelib.snippets.view import snippet_view, summary_view

routes = Routes(__name__)


@routes.post("/api/labs/snippets", grant="templates/modify")
@bare_errors()
def create_snippet(request: Request) -> Reply:
    """Create a snippet."""
    snippet = new_snippet(request.caller.scope, request.json())
    if not store.create(snippet):
        raise conflict(f"Snippet '{snippet.id}' already exists")
    return ok({"id": snippet.id})


@routes.get("/api/labs/snippets", grant="templates/view")
@bare_errors()
def list_snippets(request: Request) -> Reply:
    """List snippets without their content."""
    shared = boolean(request.query, "shared_with_subaccounts")
    return ok([summary_view(each) for each in store.in_scope(request.caller.scope, shared)])


@routes.get("/api/labs/snippets/{snippet_id}", grant="templates/view")
@bare_errors()
def show_snippet(request: Request, snippet_id: str) -> Reply:
    """Show a snippet with its content."""
    snippet = store.find(request.caller.scope, snippet_id)
    if snippet is None:
        raise NotFound("Snippet does not exist")
    return ok(snippet_view(snippet))


@routes.put("/api/labs/snippets/{snippet_id}", grant="templates/modify")
@bare_errors()
def update_snippet(request: Request, snippet_id: str) -> Reply:
    """Change the fields in the body; of the content, the keys in the body."""
    scope = request.caller.scope
    body = read_update(scope, request.json())
    if not store.update(scope, snippet_id, lambda snippet: apply_update(snippet, body)):
        raise _not_owned(scope, snippet_id)
    return empty()


@routes.delete("/api/labs/snippets/{snippet_id}", grant="templates/modify")
@bare_errors()
def delete_snippet(request: Request, snippet_id: str) -> Reply:
    """Delete a snippet."""
    scope = request.caller.scope
    if not store.delete(scope, snippet_id):
        raise _not_owned(scope, snippet_id)
    return empty(204)


def _not_owned(scope: Scope, snippet_id: str) -> ApiError:
    """Return 403 for a snippet that the primary account shares, 404 for an unknown one."""
    if store.find(scope, snippet_id) is not None:
        return Forbidden(f"Snippet '{snippet_id}' belongs to the primary account")
    return NotFound("Snippet does not exist")
