"""No other web site can act or read through a browser in which somebody uses the service.

A key is read from one header only, which no form of another site can set, and no reply lets another
site's scripts read it or show it in a frame. That a GET changes nothing is in ``test_isolation``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from moto import mock_aws

from app import app
from chalicelib.core.caches import clear_caches
from chalicelib.core.http import PUBLIC, DeclaredRoute
from tests.fake_cloud import create_resources
from tests.unit.core.gateway_events import event
from tests.unit.people import make_account, make_key
from tests.unit.strict_headers import check_strict_headers

ROUTES = sorted(app.declared_routes())


@pytest.fixture(scope="module")
def key() -> Iterator[str]:
    """A key that could do everything."""
    clear_caches()
    with mock_aws():
        create_resources()
        make_account(1)
        yield make_key(1).key
    clear_caches()


def respond(method: str, path: str, **parts: Any) -> dict[str, Any]:
    response: dict[str, Any] = app(event(app, method, path, **parts), None)
    return response


@pytest.mark.parametrize(
    "route",
    [each for each in ROUTES if each.grant != PUBLIC],
    ids=lambda route: f"{route.method} {route.path}",
)
def test_a_key_outside_the_header_is_no_key(key: str, route: DeclaredRoute) -> None:
    names = ("authorization", "Authorization", "api_key", "apikey", "key", "token", "access_token")
    parts: list[dict[str, Any]] = [
        {"query": {name: [key] for name in names}},
        {"headers": {"Cookie": "; ".join(f"{name}={key}" for name in names)}},
        {"headers": {f"X-{name}": key for name in names}},
        {"body": "&".join(f"{name}={key}" for name in names).encode()},
    ]
    path = re.sub(r"\{\w+\}", "1", route.path)
    for part in parts:
        assert respond(route.method, path, **part)["statusCode"] == 401, part


#: What a person does before a session begins. Each reads JSON, which no form can send
BEFORE_A_SESSION = {
    "/api/v1/sign-in",
    "/api/v1/sign-in/passkey",
    "/api/v1/password-reset",
}


def test_what_changes_without_a_key_needs_a_token_of_a_mail() -> None:
    changing = {each.path for each in ROUTES if each.method not in ("GET", "HEAD")}
    public = {each.path for each in ROUTES if each.grant == PUBLIC} & changing
    others = public - BEFORE_A_SESSION - {"/api/v1/sign-in/passkey/options"}
    assert all("{token}" in path for path in others), others


@pytest.mark.parametrize("path", sorted(BEFORE_A_SESSION))
def test_no_form_of_another_site_signs_anybody_in(key: str, path: str) -> None:
    for media_type in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        headers = {"Content-Type": media_type}
        body = b'{"email": "a@acme.example", "password": "x", "state": "", "credential": {}}'
        assert respond("POST", path, headers=headers, body=body)["statusCode"] == 415


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
def test_every_reply_has_strict_headers(key: str, route: DeclaredRoute) -> None:
    path = re.sub(r"\{\w+\}", "1", route.path)
    other_site = {"Origin": "https://evil.test", "Sec-Fetch-Site": "cross-site"}
    for method in (route.method, "OPTIONS"):
        check_strict_headers(respond(method, path, headers=other_site))


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nowhere", 404),
        ("GET", "/t/c/forged", 404),
        ("GET", "/t/o/forged", 404),
        ("GET", "/api/v1/account", 401),
        ("DELETE", "/api/v1", 405),
    ],
)
def test_errors_have_strict_headers(key: str, method: str, path: str, status: int) -> None:
    response = respond(method, path)
    assert response["statusCode"] == status
    assert check_strict_headers(response)["form-action"] == "'none'"
