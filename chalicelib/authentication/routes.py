"""Serve ``/api-keys/current`` and ``/authenticate/grants``.

They tell what the key of a request is, whom it acts for, and what keys and users can be allowed.
"""

from __future__ import annotations

from typing import Any

from chalicelib.api_keys import grants as key_grants
from chalicelib.api_keys import store
from chalicelib.api_keys.grants import GRANTS, SUBACCOUNT_GRANTS
from chalicelib.api_keys.view import key_view
from chalicelib.core.errors import Forbidden, Unauthorized
from chalicelib.core.http import AUTHENTICATED, Reply, Request, Routes, ok
from chalicelib.core.scope import Scope
from chalicelib.subaccounts import store as subaccounts
from chalicelib.subaccounts.view import subaccount_view

routes = Routes(__name__)


@routes.get("/api/v1/authenticate/grants", grant="grants/view")
def list_grants(request: Request) -> Reply:
    """Return the grants that keys can carry; with ``role=subaccount``, those of subaccounts.

    Each says which roles of users have it.
    """
    from chalicelib.users.roles import roles_with  # a cold start does without users

    of_subaccounts = request.query.get("role") == "subaccount"
    grants = [grant for grant in GRANTS if not of_subaccounts or grant.key in SUBACCOUNT_GRANTS]
    used = key_grants.used()
    return ok(
        [
            grant._asdict() | {"used": grant.key in used, "roles": roles_with(grant.key)}
            for grant in grants
        ]
    )


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
    confined = caller.confined_to is not None
    view = key_view(key, confined=confined)
    return ok(view | {"grants": sorted(caller.grants)} | acting_for)


def _subaccount(scope: Scope) -> dict[str, Any] | None:
    if scope.owner is None:
        return None
    subaccount = subaccounts.get(scope.account_id, scope.owner)
    view = subaccount_view(subaccount) if subaccount else {"id": scope.owner}
    return {name: view[name] for name in ("id", "name", "status") if name in view}
