"""Serve ``/ab-test``: tests, their versions, and their drafts."""

from __future__ import annotations

from typing import Any

from chalicelib.ab_tests import service
from chalicelib.ab_tests.model import STATUSES, AbTest
from chalicelib.ab_tests.request import AbTestBody, read, read_new, refusal
from chalicelib.ab_tests.store import versions
from chalicelib.ab_tests.view import ab_test_views
from chalicelib.core import clock
from chalicelib.core.http import Reply, Request, Routes, empty, ok

routes = Routes(__name__)

GRANT = "ab-testing/manage"

_PATH = "/api/v1/ab-test"


@routes.post(_PATH, grant=GRANT)
def create_test(request: Request) -> Reply:
    """Create a test and schedule it."""
    return _created(request, draft=False)


@routes.get(_PATH, grant=GRANT)
def list_tests(request: Request) -> Reply:
    """List the latest version of each test."""
    status = request.query.get("status")
    if status is not None and status not in STATUSES:
        raise refusal(f"status must be one of: {', '.join(STATUSES)}")
    now_ms = clock.now_ms()
    tests = versions.in_scope(request.caller.scope)
    matches = [test for test in tests if status in (None, test.status(now_ms))]
    return ok(list(ab_test_views(matches, now_ms)))


@routes.get(f"{_PATH}/{{test_id}}", grant=GRANT)
def show_test(request: Request, test_id: str) -> Reply:
    """Show a test: its latest version, or the one that ``version`` names."""
    return _test_reply(service.find(request.caller.scope, test_id, _version(request)))


@routes.put(f"{_PATH}/{{test_id}}", grant=GRANT)
def update_test(request: Request, test_id: str) -> Reply:
    """Change a test that does not run yet, or run one that ended again as a new version."""
    body = _read_changes(request, test_id)
    test = service.update(request.caller.scope, test_id, body, _version(request))
    return ok({"version": test.version})


@routes.delete(f"{_PATH}/{{test_id}}", grant=GRANT)
def delete_test(request: Request, test_id: str) -> Reply:
    """Delete a test that ended."""
    service.delete(request.caller.scope, test_id, _version(request))
    return empty(204)


@routes.post(f"{_PATH}/{{test_id}}/cancel", grant=GRANT)
def cancel_test(request: Request, test_id: str) -> Reply:
    """Cancel a test that is scheduled or running."""
    return ok({"status": service.cancel(request.caller.scope, test_id).state})


@routes.post(f"{_PATH}/draft", grant=GRANT)
def create_draft(request: Request) -> Reply:
    """Create a draft: a name and a default template are enough."""
    return _created(request, draft=True)


@routes.get(f"{_PATH}/draft/{{test_id}}", grant=GRANT)
def show_draft(request: Request, test_id: str) -> Reply:
    """Show a draft."""
    return _test_reply(service.find_draft(request.caller.scope, test_id))


@routes.put(f"{_PATH}/draft/{{test_id}}", grant=GRANT)
def update_draft(request: Request, test_id: str) -> Reply:
    """Change a draft, or make one of a test that ended."""
    body = _read_changes(request, test_id)
    return ok({"id": service.update_draft(request.caller.scope, test_id, body).id})


@routes.delete(f"{_PATH}/draft/{{test_id}}", grant=GRANT)
def delete_draft(request: Request, test_id: str) -> Reply:
    """Delete a draft."""
    service.delete_draft(request.caller.scope, test_id)
    return empty(204)


@routes.post(f"{_PATH}/draft/{{test_id}}/schedule", grant=GRANT)
def schedule_draft(request: Request, test_id: str) -> Reply:
    """Schedule a draft, with the changes in the body."""
    body = _read_changes(request, test_id)
    return ok({"id": service.schedule(request.caller.scope, test_id, body).id})


def _created(request: Request, *, draft: bool) -> Reply:
    body, name, default = read_new(request.json())
    return ok({"id": service.create(request.caller.scope, body, name, default, draft=draft).id})


def _read_changes(request: Request, test_id: str) -> AbTestBody:
    data: Any = request.json() if request.raw_body else {}
    body = read(data)
    if body.id not in (None, test_id):
        raise refusal("id cannot be changed")
    return body


def _test_reply(test: AbTest) -> Reply:
    return ok(*ab_test_views([test], clock.now_ms()))


def _version(request: Request) -> int | None:
    text = request.query.get("version")
    if text is None:
        return None
    if not text.isascii() or not text.isdigit() or len(text) > 8 or int(text) < 1:
        raise refusal("version must be the number of a version")
    return int(text)
