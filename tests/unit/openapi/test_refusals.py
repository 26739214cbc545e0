"""The errors that the description promises are those that the code of a route can raise."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from app import app
from chalicelib.core.http import PUBLIC, DeclaredRoute
from chalicelib.openapi.catalogue import RESOURCES
from chalicelib.openapi.document import OF_ALL, documented_routes, refusals
from tests.unit.openapi.reach import Place, raised

OPERATIONS = {name: each for operations in RESOURCES.values() for name, each in operations.items()}
ROUTES = {f"{each.method} {each.path}": each for each in documented_routes(app)}
AUTHENTICATE = ("chalicelib.authentication.service", "authenticate")

#: (operation, status) that the search finds and no request can meet
UNREACHABLE = {
    # `Params` refuses a body that is no object; these read the query with it.
    ("GET /api/v1/api-keys", 422),
    ("GET /api/v1/subaccounts", 422),
    ("GET /api/v1/subaccounts/{subaccount_id}", 422),
    # What keeps a user out leads to the console; the last administrator keeps the role.
    ("GET /api/v1/sign-in/providers/{provider_id}/callback", 401),
    ("GET /api/v1/sign-in/providers/{provider_id}/callback", 409),
    # These changes of a user make nobody less of an administrator.
    ("POST /api/v1/invitations/{token}", 409),
    ("POST /api/v1/password-reset/{token}", 409),
    ("PUT /api/v1/me", 409),
    ("POST /api/v1/sign-in", 409),
    ("POST /api/v1/sign-in/passkey", 409),
    ("DELETE /api/v1/users/{user_id}/second-factor", 409),
    ("DELETE /api/v1/users/{user_id}/sessions", 409),
    # What is cancelled is cancelled even if its content is gone.
    ("DELETE /api/v1/transmissions", 422),
    ("DELETE /api/v1/transmissions/{transmission_id}", 422),
}


def statuses_of(route: DeclaredRoute) -> dict[int, Place]:
    view: Any = inspect.unwrap(app.view(route.method, route.path))
    # A view that a function makes is part of that function's code.
    statuses = raised(view.__module__, view.__qualname__.partition(".")[0])
    return statuses if route.grant == PUBLIC else raised(*AUTHENTICATE) | statuses


@pytest.mark.parametrize("name", ROUTES)
def test_a_route_promises_the_errors_that_it_can_raise(name: str) -> None:
    route, operation = ROUTES[name], OPERATIONS[name]
    statuses = statuses_of(route)
    unreachable = {status for other, status in UNREACHABLE if other == name}
    assert unreachable <= statuses.keys(), "this exception is no longer needed"
    promised = refusals(route, operation) - operation.responses.keys() - set(OF_ALL)
    possible = statuses.keys() - unreachable - operation.responses.keys() - set(OF_ALL)
    never = promised - possible
    forgotten = {status: statuses[status] for status in possible - promised}
    assert not never, f"{name} promises what it never raises: {sorted(never)}"
    assert not forgotten, f"{name} does not promise {forgotten}"


def test_the_check_of_the_key_raises_what_every_route_with_a_key_promises() -> None:
    assert {400, 401, 403, 429} <= raised(*AUTHENTICATE).keys()


def test_the_search_follows_methods_imports_and_values() -> None:
    assert 409 in raised("chalicelib.ab_tests.routes", "delete_test")
    assert 415 in raised("chalicelib.templates.routes", "preview_content")
    assert raised("chalicelib.core.clock", "now") == {}
