"""``/recipient-lists``. Lists belong to the account: a subaccount neither sees nor has any."""

from __future__ import annotations

from chalicelib.core.errors import Forbidden
from chalicelib.core.fields import boolean, integer
from chalicelib.core.http import Reply, Request, Routes, ok, raw
from chalicelib.recipient_lists import service, store
from chalicelib.recipient_lists.request import read_changes, read_new
from chalicelib.recipient_lists.service import Saved
from chalicelib.recipient_lists.view import whole_list

routes = Routes(__name__)

GRANT = "recipient_lists/manage"

_MOST_ERRORS = 1_000_000


@routes.post("/api/v1/recipient-lists", grant=GRANT)
def create_list(request: Request) -> Reply:
    """Store a list and say how many of its recipients were taken."""
    account_id, shown = _account(request), _errors_wanted(request)
    return _reply(service.create(account_id, read_new(request.json())), shown)


@routes.get("/api/v1/recipient-lists", grant=GRANT)
def list_lists(request: Request) -> Reply:
    """List the account's lists without their recipients."""
    return ok([found.summary() for found in store.in_account(_account(request))])


@routes.get("/api/v1/recipient-lists/{list_id}", grant=GRANT)
def show_list(request: Request, list_id: str) -> Reply:
    """Show a list, with its recipients when that is asked for."""
    account_id = _account(request)
    if boolean(request.query, "show_recipients", False):
        return raw(whole_list(account_id, list_id), "application/json")
    found = store.get(account_id, list_id)
    if found is None:
        raise service.unknown(list_id)
    return ok(found.summary())


@routes.put("/api/v1/recipient-lists/{list_id}", grant=GRANT)
def update_list(request: Request, list_id: str) -> Reply:
    """Change what is sent of a list; recipients are replaced as a whole."""
    account_id, shown = _account(request), _errors_wanted(request)
    changes = read_changes(request.json(), list_id)
    return _reply(service.update(account_id, list_id, changes), shown)


@routes.delete("/api/v1/recipient-lists/{list_id}", grant=GRANT)
def delete_list(request: Request, list_id: str) -> Reply:
    """Delete a list and its recipients."""
    if not store.delete(_account(request), list_id):
        raise service.unknown(list_id)
    return Reply(200, {})


def _account(request: Request) -> int:
    scope = request.caller.scope
    if scope.owner is not None:
        raise Forbidden("recipient lists cannot be used by subaccounts")
    return scope.account_id


def _errors_wanted(request: Request) -> int:
    return integer(request.query, "num_rcpt_errors", _MOST_ERRORS, 0, _MOST_ERRORS)


def _reply(saved: Saved, shown: int) -> Reply:
    refusals = saved.refusals
    results = {
        "id": saved.list.id,
        "name": saved.list.name,
        "total_accepted_recipients": saved.list.count,
        "total_rejected_recipients": refusals.count,
    }
    if not refusals.count:
        return ok(results)
    error = {
        "message": "recipient list saved, but with validation errors",
        "code": "5000",
        "description": f"{refusals.count} recipient(s) were not accepted",
    }
    return ok(results | {"rcpt_to_errors": refusals.shown(shown)}, errors=[error])
