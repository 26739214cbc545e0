"""Serve ``/recipient-lists``. Lists belong to the account: a subaccount has and sees none."""

from __future__ import annotations

from chalicelib.core.errors import Forbidden
from chalicelib.core.fields import boolean, integer
from chalicelib.core.http import Reply, Request, Routes, ok, raw
from chalicelib.recipient_lists import service
from chalicelib.recipient_lists.request import read_changes, read_new
from chalicelib.recipient_lists.store import lists
from chalicelib.recipient_lists.view import list_view, list_with_recipients, saving_reply

routes = Routes(__name__)

GRANT = "recipient_lists/manage"

_MOST_ERRORS = 1_000_000


@routes.post("/api/v1/recipient-lists", grant=GRANT)
def create_list(request: Request) -> Reply:
    """Store a list and say how many of its recipients were accepted."""
    account_id, most_errors = _account(request), _most_errors(request)
    return saving_reply(service.create(account_id, read_new(request.json())), most_errors)


@routes.get("/api/v1/recipient-lists", grant=GRANT)
def list_lists(request: Request) -> Reply:
    """List the account's lists without their recipients."""
    return ok([list_view(each) for each in lists.in_account(_account(request))])


@routes.get("/api/v1/recipient-lists/{list_id}", grant=GRANT)
def show_list(request: Request, list_id: str) -> Reply:
    """Show a list, with its recipients on request."""
    account_id = _account(request)
    if boolean(request.query, "show_recipients", False):
        return raw(list_with_recipients(account_id, list_id), "application/json")
    recipient_list = lists.get(account_id, list_id)
    if recipient_list is None:
        raise service.unknown_list(list_id)
    return ok(list_view(recipient_list))


@routes.put("/api/v1/recipient-lists/{list_id}", grant=GRANT)
def update_list(request: Request, list_id: str) -> Reply:
    """Change the fields of a list that the body names; recipients are replaced all together."""
    account_id, most_errors = _account(request), _most_errors(request)
    changes = read_changes(request.json(), list_id)
    return saving_reply(service.update(account_id, list_id, changes), most_errors)


@routes.delete("/api/v1/recipient-lists/{list_id}", grant=GRANT)
def delete_list(request: Request, list_id: str) -> Reply:
    """Delete a list and its recipients."""
    if not lists.delete(_account(request), list_id):
        raise service.unknown_list(list_id)
    return Reply(200, {})


def _account(request: Request) -> int:
    scope = request.caller.scope
    if scope.owner is not None:
        raise Forbidden("recipient lists cannot be used by subaccounts")
    return scope.account_id


def _most_errors(request: Request) -> int:
    return integer(request.query, "num_rcpt_errors", _MOST_ERRORS, 0, _MOST_ERRORS)
