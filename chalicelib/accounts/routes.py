"""Serve ``/account`` and ``/usage`` (spec 4.6), which concern the whole account in any scope."""

from __future__ import annotations

from chalicelib.accounts.model import Account
from chalicelib.accounts.request import AccountChange
from chalicelib.accounts.store import accounts
from chalicelib.accounts.view import account_view, features_view, usage_view
from chalicelib.core import clock
from chalicelib.core.errors import Forbidden
from chalicelib.core.http import Reply, Request, Routes, ok
from chalicelib.core.query import comma_list

routes = Routes(__name__)


@routes.get("/api/v1/account", grant="account/view")
def show_account(request: Request) -> Reply:
    """Return the account of the key; with ``include=usage``, what it has used of its plan."""
    account = _account(request)
    body = account_view(account)
    if "usage" in comma_list(request.query, "include") and not account.is_enterprise:
        body["usage"] = usage_view(account)
    return ok(body)


@routes.put("/api/v1/account", grant="account/manage")
def change_account(request: Request) -> Reply:
    """Change the company's name, the two-factor requirement and options."""
    change = AccountChange.parse(request.json())
    accounts.change(request.caller.account_id, change.apply)
    return ok({"message": "Account has been updated"})


@routes.get("/api/v1/usage", grant="usage/view")
def show_usage(request: Request) -> Reply:
    """Return what the account has used of its plan, by feature; not for enterprise accounts."""
    account = _account(request)
    if account.is_enterprise:
        raise Forbidden("usage is not available to enterprise accounts")
    return ok(features_view(account))


def _account(request: Request) -> Account:
    account = accounts.get(request.caller.account_id)
    if account is None:
        raise LookupError(f"key {request.caller.key_id} belongs to no account")
    return account.at(clock.now())
