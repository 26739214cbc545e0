"""An id that DynamoDB cannot hold as a key is not found; it causes no internal error.

DynamoDB refuses requests with such keys, and so does the fake cloud of these tests.
"""

from __future__ import annotations

import re
from typing import Any

import pytest

from app import app
from chalicelib.core.http import PUBLIC
from tests.unit.calling import Client
from tests.unit.isolation import CASES, Case, Owner
from tests.unit.people import make_account, make_key

NAMES = {"ascii": "x" * 3000, "letters of two bytes": "\u00e9" * 600, "half a pair": "\ud800"}
CONTENT = {"from": "a@example.test", "subject": "s", "text": "t"}
LIST = [{"address": "a@b.test"}]
#: It tells of any text whether it is an address
VALIDATION = "/api/v1/recipient-validation/single/{address}"
ROUTES = [
    route
    for route in app.declared_routes()
    if route.grant != PUBLIC and "{" in route.path and route.path != VALIDATION
]


@pytest.fixture
def client(cloud: None) -> Client:
    make_account()
    return make_key()


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
def test_an_id_that_dynamodb_cannot_hold_is_not_found(
    client: Client, route: Any, name: str
) -> None:
    case = CASES.get((route.method, route.path), Case())
    owner = Owner(1, None, "", client, things={"recipient": name})
    body = case.body(owner) if callable(case.body) else case.body
    response = client.call(route.method, re.sub(r"\{[^}]+\}", name, route.path), body)
    assert 400 <= response.status < 500, response


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
@pytest.mark.parametrize(
    "body_with",
    [
        lambda name: {"content": {"template_id": name}, "recipients": [{"address": "a@b.test"}]},
        lambda name: {"content": {"ab_test_id": name}, "recipients": [{"address": "a@b.test"}]},
        lambda name: {"content": CONTENT, "recipients": {"list_id": name}},
        lambda name: {"content": CONTENT, "recipients": LIST, "options": {"ip_pool": name}},
    ],
    ids=["template", "A/B test", "list", "pool"],
)
def test_a_transmission_that_names_such_an_id_is_refused(
    client: Client, body_with: Any, name: str
) -> None:
    response = client.call("POST", "/api/v1/transmissions", body_with(name))
    assert 400 <= response.status < 500, response
