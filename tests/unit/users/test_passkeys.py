"""A passkey signs in at the service's own origin, with a challenge that is used once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from chalicelib.core.dynamo import AnyItem, Table
from chalicelib.core.settings import settings
from chalicelib.users import cookies, passkeys
from chalicelib.users.model import User
from chalicelib.users.store import sessions, users
from tests.unit.calling import Client, Response
from tests.unit.moving_clock import Clock, moving_clock
from tests.unit.people import make_account, make_user, sign_in
from tests.unit.users.authenticators import SoftwarePasskey
from tests.unit.users.test_second_factor import PATH, add_passkey

pytestmark = pytest.mark.usefixtures("cloud")

SIGN_IN = "/api/v1/sign-in/passkey"
ANYBODY = Client("")


@pytest.fixture
def clock() -> Iterator[Clock]:
    with moving_clock(1_700_000_010.0) as moving:
        make_account()
        yield moving


def user_with_passkey() -> tuple[User, SoftwarePasskey]:
    user = make_user()
    passkey, added = add_passkey(sign_in(user))
    assert added.status == 200, added
    return user, passkey


def begin() -> dict[str, Any]:
    results: dict[str, Any] = ANYBODY.post(f"{SIGN_IN}/options", {}).results
    return results


def answer(passkey: SoftwarePasskey, request: dict[str, Any] | None = None) -> Response:
    request = request or begin()
    body = {"credential": passkey.get(request["options"]), "state": request["state"]}
    return ANYBODY.post(SIGN_IN, body)


def test_a_passkey_signs_in_with_both_factors(clock: Clock) -> None:
    make_account(2, tfa_required=True)
    user = make_user(2)
    passkey, _ = add_passkey(sign_in(user))
    reply = answer(passkey)
    assert set(reply.results) == {"csrf_token"}
    cookie = reply.cookies[0].partition(";")[0]
    assert Client("", {"Cookie": cookie}).get("/api/v1/templates").status == 200
    presented = cookies.read_cookie(cookie.partition("=")[2])
    assert presented
    session = sessions.get(user.id, presented.session_id)
    assert session
    assert (session.method, session.second_factor) == ("passkey", True)
    factors = Client("", {"Cookie": cookie}).get(PATH).results["passkeys"]
    assert factors[0]["last_used"] == "2023-11-14T22:13:30+00:00"


def test_browsers_are_asked_for_a_passkey_that_verifies_its_user(clock: Clock) -> None:
    user = make_user()
    browser = sign_in(user)
    add_passkey(browser)
    creation = browser.post(PATH, {"type": "passkey"}).results["options"]
    assert creation["rp"]["id"] == "localhost"
    selection = creation["authenticatorSelection"]
    assert (selection["residentKey"], selection["userVerification"]) == ("required", "required")
    assert [each["id"] for each in creation["excludeCredentials"]] == ["TGFwdG9w"]
    options = begin()["options"]
    assert (options["userVerification"], options["rpId"]) == ("required", "localhost")
    assert not options.get("allowCredentials")


@pytest.mark.parametrize(
    "change",
    [
        {"origin": "https://evil.example"},
        {"origin": "http://localhost:8081"},
        {"origin": "https://localhost:8080"},
        {"host": "evil.example"},
        {"verifies": False},
        {"user_handle": b"0" * 20},
        {"user_handle": b""},
        {"user_handle": b"\xff"},
        {"id": b"another"},
        {"key": SoftwarePasskey().key},
    ],
)
def test_an_answer_of_another_page_or_passkey_is_refused(
    clock: Clock, change: dict[str, Any]
) -> None:
    _, passkey = user_with_passkey()
    passkey.count = 5
    reply = answer(replace(passkey, **change))
    assert (reply.status, reply.cookies) == (401, [])
    assert answer(passkey).status == 200


@pytest.mark.parametrize(
    "change", [{"origin": "https://evil.example"}, {"host": "evil.example"}, {"verifies": False}]
)
def test_a_new_passkey_of_another_page_is_refused(clock: Clock, change: dict[str, Any]) -> None:
    browser = sign_in(make_user())
    request = browser.post(PATH, {"type": "passkey"}).results
    credential = SoftwarePasskey(**change).create(request["options"])
    reply = browser.put(PATH, {"credential": credential, "state": request["state"]})
    assert (reply.status, reply.error["param"]) == (400, "credential")
    assert browser.get(PATH).results["passkeys"] == []


def test_a_challenge_is_good_once_for_five_minutes_and_its_own_use(clock: Clock) -> None:
    _, passkey = user_with_passkey()
    request = begin()
    assert answer(passkey, request).status == 200
    assert answer(passkey, request).status == 401
    late = begin()
    clock.now += 300
    assert answer(passkey, late).status == 401
    other = begin() | {"state": begin()["state"]}
    assert answer(passkey, other).status == 401
    forged = begin() | {"state": "a" * 60}
    assert answer(passkey, forged).status == 400
    creation = sign_in(make_user()).post(PATH, {"type": "passkey"}).results
    assert answer(passkey, creation).status == 400


def test_the_challenge_of_another_users_new_passkey_is_refused(clock: Clock) -> None:
    request = sign_in(make_user()).post(PATH, {"type": "passkey"}).results
    credential = SoftwarePasskey().create(request["options"])
    body = {"credential": credential, "state": request["state"]}
    assert sign_in(make_user()).put(PATH, body).status == 400


def test_a_counter_that_does_not_go_up_means_a_copy(clock: Clock) -> None:
    user, passkey = user_with_passkey()
    assert answer(passkey).status == 200
    copy = replace(passkey, count=passkey.count - 1)
    assert answer(copy).status == 401
    assert answer(passkey).status == 200
    lines: Table[AnyItem] = Table("audit")
    query = {"key": f"1#sign-in#{user.id}"}
    items = lines.query_all("#resource_key = :key", query, index="by_resource")
    assert sorted(each["outcome"] for each in items) == ["done", "done", "refused"]


@pytest.mark.parametrize(
    "edit",
    [
        lambda user: replace(user, status="disabled"),
        lambda user: replace(user, passkeys=()),
    ],
)
def test_a_disabled_user_and_a_removed_passkey_do_not_sign_in(
    clock: Clock, edit: Callable[[User], User]
) -> None:
    make_user()
    user, passkey = user_with_passkey()
    users.change(user.id, edit)
    reply = answer(passkey)
    unknown = answer(replace(passkey, user_handle=b"0" * 20))
    assert (reply.status, reply.body) == (401, unknown.body)


def test_a_user_has_at_most_ten_passkeys_and_each_once(clock: Clock) -> None:
    user = make_user()
    browser = sign_in(user)
    for number in range(passkeys.MOST_PASSKEYS - 1):
        assert add_passkey(browser, f"Key {number}")[1].status == 200
    assert add_passkey(browser, "Key 0")[1].status == 409
    assert add_passkey(browser, "Last")[1].status == 200
    assert browser.post(PATH, {"type": "passkey"}).status == 409


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://mail.acme.example", "https://mail.acme.example"),
        ("https://mail.acme.example:443/api", "https://mail.acme.example"),
        ("https://mail.acme.example:8443", "https://mail.acme.example:8443"),
    ],
)
def test_the_origin_is_that_of_the_setting(
    clock: Clock, monkeypatch: pytest.MonkeyPatch, url: str, origin: str
) -> None:
    monkeypatch.setenv("PUBLIC_URL", url)
    settings.cache_clear()
    user = make_user()
    request = passkeys.creation_options(user)
    credential = SoftwarePasskey(origin=origin, host="mail.acme.example").create(request["options"])
    assert passkeys.read_new(user, credential, request["state"], "Laptop").name == "Laptop"


@pytest.mark.parametrize("body", [{}, {"state": "x"}, {"credential": {}}, {"credential": []}])
def test_a_sign_in_in_another_form_is_refused(clock: Clock, body: dict[str, Any]) -> None:
    assert ANYBODY.post(SIGN_IN, body).status == 400


@pytest.mark.parametrize(
    "credential", [{}, {"id": 5, "response": "x"}, {"response": {"userHandle": ["x"]}}]
)
def test_a_credential_that_is_none_is_refused(clock: Clock, credential: dict[str, Any]) -> None:
    body = {"credential": credential, "state": begin()["state"]}
    assert ANYBODY.post(SIGN_IN, body).status == 401
