"""Serve ``/recipient-validation``: single addresses, and whole recipient lists."""

from __future__ import annotations

from chalicelib.core.errors import Forbidden
from chalicelib.core.http import Reply, Request, Routes, ok
from chalicelib.recipient_validation import list_jobs, service
from chalicelib.recipient_validation.request import read_copy
from chalicelib.recipient_validation.view import job_view, verdict_view

routes = Routes(__name__)

GRANT = "recipient-validation/manage"
_LIST_PATH = "/api/v1/recipient-validation/list/{list_id}"


@routes.get("/api/v1/recipient-validation/single/{address}", grant=GRANT, waits=True)
def validate_address(request: Request, address: str) -> Reply:
    """Say whether mail to an address is likely to arrive. No mail host is connected to."""
    return ok(verdict_view(service.validate(request.caller.scope, address)))


@routes.post(_LIST_PATH, grant=GRANT, waits=True)
def validate_list(request: Request, list_id: str) -> Reply:
    """Begin to validate the addresses of a recipient list, and to copy the good ones if wanted.

    A small list is done in the response; the others go on in the background.
    """
    copy = read_copy(request.json() if request.raw_body.strip() else {})
    return ok(job_view(list_jobs.start(_account(request), list_id, copy)))


@routes.get(_LIST_PATH, grant=GRANT)
def show_list_validation(request: Request, list_id: str) -> Reply:
    """Show how far the last validation of a recipient list is, and its counts by result."""
    return ok(job_view(list_jobs.last(_account(request), list_id)))


def _account(request: Request) -> int:
    scope = request.caller.scope
    if scope.owner is not None:
        raise Forbidden("recipient lists cannot be used by subaccounts")
    return scope.account_id
