"""Serve ``/data-privacy``. Errors carry a message and no code."""

from __future__ import annotations

from chalicelib.authentication.service import SUBACCOUNT_HEADERS
from chalicelib.core.errors import bad_request, bare_errors
from chalicelib.core.http import Reply, Request, Routes, ok
from chalicelib.core.scope import Scope
from chalicelib.data_privacy import service
from chalicelib.data_privacy.request import read_recipients

routes = Routes(__name__)

_GRANT = "suppression_lists/manage"


@routes.post("/api/v1/data-privacy/rtbf-request", grant=_GRANT)
@bare_errors(coded_only=True)
def request_to_be_forgotten(request: Request) -> Reply:
    """Forget recipients: their events, suppression entries and the context of their messages."""
    return _save(service.FORGET, request)


@routes.post("/api/v1/data-privacy/opt-out-request", grant=_GRANT)
@bare_errors(coded_only=True)
def request_to_opt_out(request: Request) -> Reply:
    """Stop all but transactional messages to recipients, and do not track their opens."""
    return _save(service.OPT_OUT, request)


def _save(kind: str, request: Request) -> Reply:
    body = request.json()
    recipients = read_recipients(body)
    service.save_request(kind, _scope_of(request, body.get("include_subaccounts")), recipients)
    return ok({"message": "Request saved."})


def _scope_of(request: Request, include_subaccounts: object) -> Scope:
    """Return the whole account if all subaccounts are meant and the header names no part."""
    if not isinstance(include_subaccounts, bool | None):
        raise bad_request("include_subaccounts must be a boolean")
    caller = request.caller
    is_part = caller.confined_to or any(name in request.headers for name in SUBACCOUNT_HEADERS)
    return Scope(caller.account_id, None) if include_subaccounts and not is_part else caller.scope
