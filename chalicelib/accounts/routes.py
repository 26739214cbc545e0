"""``/account`` (spec 4.6)."""

from __future__ import annotations

from chalicelib.accounts import store
from chalicelib.core.http import Reply, Request, Routes, ok

routes = Routes(__name__)


@routes.get("/api/v1/account", grant="account/view")
def show_account(request: Request) -> Reply:
    """Return the account of the key."""
    account = store.get(request.caller.account_id)
    if account is None:
        raise LookupError(f"key {request.caller.key_id} belongs to no account")
    return ok(account.as_json())
