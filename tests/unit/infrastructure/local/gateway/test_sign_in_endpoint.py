"""The printed link of the local runtime signs its administrator in."""

from __future__ import annotations

import base64
import json
from dataclasses import replace

import pytest

from chalicelib.core import audit, clock
from chalicelib.core.dynamo import AnyItem, Table
from chalicelib.core.errors import ApiError
from chalicelib.core.scope import Scope
from chalicelib.users.model import DISABLED
from chalicelib.users.store import users
from infrastructure.local.gateway.sign_in_endpoint import (
    ADDRESS,
    PATH,
    SignInEndpoint,
    local_administrator,
)
from tests.unit.calling import Client
from tests.unit.infrastructure.local.gateway.local_client import LocalClient, Reply
from tests.unit.people import make_account, make_key, make_user

pytestmark = pytest.mark.usefixtures("cloud")

KEY = "the-first-key"  # pragma: allowlist secret
KEYS = "/api/v1/api-keys"


def sign_in(authorization: str | None = KEY) -> Reply:
    headers = [(b"authorization", authorization.encode())] if authorization is not None else []
    return LocalClient(SignInEndpoint(KEY).routes()).ask("POST", PATH, headers=headers)


def session_of(reply: Reply) -> str:
    cookies = reply.headers["set-cookie"].split("\n")
    return next(each for each in cookies if each.startswith("session="))


def browser_of(reply: Reply) -> Client:
    cookie = session_of(reply).partition(";")[0]
    token = reply.results["csrf_token"]
    return Client("", {"Cookie": cookie, "X-CSRF-Token": token})


def test_the_first_key_signs_the_local_administrator_in() -> None:
    make_account()
    reply = sign_in()
    assert set(reply.results) == {"csrf_token"}
    assert session_of(reply).endswith("; Path=/; HttpOnly; SameSite=Lax")
    assert KEY not in reply.headers["set-cookie"]
    browser = browser_of(reply)
    assert browser.get(KEYS).status == 200
    body = {"label": "Website", "grants": ["smtp/inject"]}
    assert browser.post(KEYS, body).status == 200
    user = users.by_address(ADDRESS)
    assert user is not None
    assert (user.name, user.role, user.account_id, user.password) == (
        "Local administrator",
        "admin",
        1,
        "",
    )


def test_the_local_administrator_is_found_again_and_counts_as_one() -> None:
    make_account()
    first, second = browser_of(sign_in()), browser_of(sign_in())
    assert first.get(KEYS).status == second.get(KEYS).status == 200
    assert len(users.in_scope(Scope(1, None))) == 1
    user = local_administrator()
    users.change(user.id, lambda each: replace(each, name="Ann"))
    assert local_administrator().name == "Ann"
    other = make_user()
    users.change(other.id, lambda each: replace(each, status=DISABLED))
    with pytest.raises(ApiError, match="administrator"):
        users.change(user.id, lambda each: replace(each, status=DISABLED))


def test_a_second_factor_that_the_account_asks_for_does_not_shut_the_local_user_out() -> None:
    make_account(1, tfa_required=True)
    assert browser_of(sign_in()).get(KEYS).status == 200


def test_basic_with_the_key_as_user_name_is_read_as_elsewhere() -> None:
    make_account()
    assert sign_in("Basic " + base64.b64encode(f"{KEY}:".encode()).decode()).status == 200


@pytest.mark.parametrize("authorization", [None, "", "other", f"Bearer {KEY}", "Basic ?", "é"])
def test_another_key_is_refused_and_creates_nobody(authorization: str | None) -> None:
    make_account()
    reply = sign_in(authorization)
    assert reply.status == 401
    assert "set-cookie" not in reply.headers
    assert users.by_address(ADDRESS) is None


def test_even_a_valid_key_of_the_account_is_not_the_first_one() -> None:
    make_account()
    assert sign_in(make_key().key).status == 401


def test_without_a_first_key_nobody_signs_in() -> None:
    make_account()
    client = LocalClient(SignInEndpoint("").routes())
    assert client.ask("POST", PATH, headers=[(b"authorization", b"")]).status == 401


def test_a_local_administrator_who_was_disabled_stays_so() -> None:
    make_account()
    sign_in()
    make_user()
    users.change(local_administrator().id, lambda each: replace(each, status=DISABLED))
    assert sign_in().status == 401


def test_the_address_of_another_accounts_user_is_refused() -> None:
    make_account()
    make_user(2, email=ADDRESS)
    assert sign_in().status == 409


def test_creation_and_sign_in_are_in_the_audit_log() -> None:
    make_account()
    sign_in()
    table: Table[AnyItem] = Table("audit")
    key = {"pk": audit.partition(1, clock.now_ms())}
    lines = list(table.query_all("#pk = :pk", key))
    assert sorted((line["actor_type"], line["resource"]) for line in lines) == [
        ("operator", "users"),
        ("user", "sign-in"),
    ]
    assert KEY not in json.dumps(lines, default=str)
