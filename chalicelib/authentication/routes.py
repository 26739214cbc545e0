"""Serve ``/api-keys/current``: what the key of the request is, and whom the request acts for."""

from __future__ import annotations

from typing import Any

from chalicelib.api_keys import store
from chalicelib.api_keys.view import key_view
from chalicelib.core.errors import Forbidden, Unauthorized
from chalicelib.core.http import AUTHENTICATED, Reply, Request, Routes, ok
from chalicelib.core.scope import Scope
from chalicelib.subaccounts import store as subaccounts
from chalicelib.subaccounts.view import subaccount_view

routes = Routes(__name__)


@routes.get("/api/v1/api-keys/current", grant=AUTHENTICATED)
def show_current_key(request: Request) -> Reply:
    """Return the key of this request, its grants, and the account and subaccount it acts for.

    The grants have those that others include.
    """
    caller = request.caller
    if caller.user is not None:
        raise Forbidden("the request has no API key, but a session: see /api/v1/me")
    key = store.get(caller.key_id)
    if key is None:  # deleted a moment ago, and still in the cache
        raise Unauthorized
    acting_for = {"customer_id": caller.account_id, "subaccount": _subaccount(caller.scope)}
    return ok(key_view(key) | {"grants": sorted(caller.grants)} | acting_for)


def _subaccount(scope: Scope) -> dict[str, Any] | None:
    if scope.owner is None:
        return None
    subaccount = subaccounts.get(scope.account_id, scope.owner)
    view = subaccount_view(subaccount) if subaccount else {"id": scope.owner}
    return {name: view[name] for name in ("id", "name", "status") if name in view}
