"""Serve ``/audit-log``, which is beyond the specification."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import urlencode

from chalicelib.audit_log.request import next_cursor, read_search
from chalicelib.audit_log.search import AuditPage, AuditSearch, find_page, position_below
from chalicelib.audit_log.view import as_csv, line_view
from chalicelib.core.http import Reply, Request, Routes, ok, raw
from chalicelib.core.query import with_cursor
from chalicelib.core.reply import fitting
from chalicelib.core.scope import Scope
from chalicelib.users.store import users

routes = Routes(__name__)

_PATH = "/api/v1/audit-log"
_CSV = "text/csv"


@routes.get(_PATH, grant="audit_log/view")
def list_changes(request: Request) -> Reply:
    """Return one page of who changed what, newest first, as JSON or (``Accept``) as CSV."""
    scope = request.caller.scope
    search = read_search(request.query, scope)
    page = find_page(scope, _by_user_id(search, scope))
    labels = users.labels(
        line["actor_id"] for line in page.lines if line["actor_type"] == "user" and line["actor_id"]
    )
    views = fitting([line_view(line, labels) for line in page.lines])
    cursor = next_cursor(search, _shortened(page, len(views)))
    if _CSV in request.headers.get("accept", "").lower():
        headers = {"X-Next-Cursor": cursor} if cursor else {}
        return raw(as_csv(views), f"{_CSV}; charset=utf-8", headers=headers)
    pairs = urlencode(with_cursor(request.query, cursor))
    return ok(views, links={"next": f"{_PATH}?{pairs}"} if cursor else {})


def _by_user_id(search: AuditSearch, scope: Scope) -> AuditSearch:
    """Return a search for the lines of an address as one for those of its user."""
    actor = search.filters.actor
    user = users.by_address(actor) if "@" in actor else None
    if user is None or user.account_id != scope.account_id:
        return search
    return replace(search, filters=replace(search.filters, actor=user.id))


def _shortened(page: AuditPage, count: int) -> AuditPage:
    """Return a page with the lines that a reply has room for."""
    if count == len(page.lines):
        return page
    lines = page.lines[: max(count, 1)]
    return AuditPage(lines, position_below(lines[-1]))
