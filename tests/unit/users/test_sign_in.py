"""A user signs in with an address and a password."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from argon2 import PasswordHasher

from chalicelib.accounts.store import accounts
from chalicelib.core import audit, clock, config_cache
from chalicelib.core.dynamo import Table
from chalicelib.core.errors import Unauthorized
from chalicelib.core.request import Request
from chalicelib.users import passwords, sign_in
from chalicelib.users.model import User, draw_id
from chalicelib.users.store import sessions, users
from tests.fake_cloud import aws_requests
from tests.unit.calling import Client, Response
from tests.unit.moving_clock import moving_clock
from tests.unit.people import make_account, make_key, make_user
from tests.unit.people import sign_in as people_sign_in

pytestmark = pytest.mark.usefixtures("cloud")

PATH = "/api/v1/sign-in"
PASSWORD = "correct horse of mine"  # pragma: allowlist secret
HASH = passwords.hash_of(PASSWORD)
NOBODY = Client("")


def make_ann(**fields: Any) -> User:
    return make_user(email="Ann@acme.example", **({"password": HASH} | fields))


def attempt(
    email: str = "ann@acme.example", password: str = PASSWORD, client: Client = NOBODY, **more: str
) -> Response:
    return client.post(PATH, {"email": email, "password": password, **more})


def browser_of(response: Response) -> Client:
    """The browser that keeps the cookies and the token of a reply."""
    cookies = "; ".join(each.partition(";")[0] for each in response.cookies)
    token = response.body["results"]["csrf_token"]
    return Client("", {"Cookie": cookies, "X-CSRF-Token": token})


def lines(account: int = 1) -> list[Any]:
    table: Table[Any] = Table("audit")
    now = clock.now_ms()
    key = "#pk = :pk"
    return list(table.query_all(key, {"pk": audit.partition(account, now)}))


def test_the_right_pair_gets_a_session() -> None:
    make_account()
    user = make_ann()
    response = attempt()
    browser = browser_of(response)
    assert response.status == 200
    assert browser.get("/api/v1/me").results["id"] == user.id
    assert browser.get("/api/v1/me").results["last_sign_in"]
    assert browser.put("/api/v1/account", {"company_name": "Other"}).status == 200
    session, device = response.cookies
    assert session.startswith("session=1.")
    assert "HttpOnly; SameSite=Lax" in session
    assert device.startswith("device=")
    assert "Max-Age=31536000" in device


def test_every_wrong_pair_gets_the_same_answer() -> None:
    make_account()
    make_ann()
    make_user(email="off@acme.example", status="disabled", password=HASH)
    make_user(email="new@acme.example", status="invited")
    make_user(email="sso@acme.example")
    pairs = [
        ("ann@acme.example", "wrong"),
        ("nobody@acme.example", PASSWORD),
        ("off@acme.example", PASSWORD),
        ("new@acme.example", PASSWORD),
        ("sso@acme.example", PASSWORD),
        ("no address at all", PASSWORD),
        ("x" * 254, PASSWORD),
    ]
    answers = [
        attempt(*pair, NOBODY.at(f"198.51.100.{number}")) for number, pair in enumerate(pairs)
    ]
    assert {each.status for each in answers} == {401}
    assert len({str(each.body) for each in answers}) == 1
    assert {len(each.cookies) for each in answers} == {0}


@pytest.mark.cost
def test_known_and_unknown_addresses_cost_the_same_requests() -> None:
    make_account()
    make_ann()
    costs = []
    for number, email in enumerate(("ann@acme.example", "nobody@acme.example")):
        with aws_requests() as requests:
            response = attempt(email, "wrong", Client("").at(f"198.51.100.{number}"))
        assert response.status == 401
        costs.append([each.operation for each in requests])
    assert costs[0] == costs[1]


def test_known_and_unknown_addresses_cost_the_same_hash(monkeypatch: pytest.MonkeyPatch) -> None:
    make_account()
    make_ann()
    make_user(email="sso@acme.example")
    hashed: list[str] = []
    verify = PasswordHasher.verify

    def counted(self: PasswordHasher, password_hash: str, password: bytes) -> bool:
        hashed.append(password_hash.rpartition("$")[0].rpartition("$")[0])
        return verify(self, password_hash, password)

    monkeypatch.setattr(PasswordHasher, "verify", counted)
    for name in ("ann", "nobody", "sso"):
        assert attempt(f"{name}@acme.example", "wrong").status == 401
    assert hashed == ["$argon2id$v=19$m=19456,t=2,p=1"] * 3


def test_a_form_of_another_site_cannot_sign_anybody_in() -> None:
    make_account()
    make_ann()
    form = Client("", {"Content-Type": "text/plain"})
    assert attempt(client=form).status == 415


def test_a_sign_in_draws_a_new_session_and_ends_the_one_that_came_with_it() -> None:
    """A session that an attacker planted in the browser is not the one of the user."""
    make_account()
    make_ann()
    mallory = make_user(email="mallory@acme.example", password=HASH, role="reporting")
    planted = browser_of(attempt(mallory.email))
    response = attempt(client=Client("", {"Cookie": planted.headers["Cookie"]}))
    assert response.status == 200
    assert not set(response.cookies[0].split(";")) & set(str(planted.headers["Cookie"]).split(";"))
    assert planted.get("/api/v1/me").status == 401
    assert browser_of(response).get("/api/v1/me").results["email"] == "Ann@acme.example"


def test_an_outdated_hash_is_replaced_at_the_sign_in() -> None:
    make_account()
    old = PasswordHasher(time_cost=1, memory_cost=8192).hash(PASSWORD)
    user = make_ann(password=old)
    assert attempt().status == 200
    present = users.get(user.id)
    assert present
    assert present.password != old
    assert present.stamp == user.stamp
    assert attempt().status == 200


def test_where_the_account_asks_for_a_second_factor_the_session_is_for_setting_one_up() -> None:
    make_account(tfa_required=True)
    make_ann()
    response = attempt()
    assert (response.status, response.error["code"]) == (403, "2fa_setup_required")
    browser = browser_of(response)
    assert browser.get("/api/v1/second-factor").status == 200
    assert browser.get("/api/v1/me").status == 403
    assert browser.get("/api/v1/templates").status == 403
    signed_out = browser.post("/api/v1/sign-out", None)
    assert signed_out.status == 204
    assert "Max-Age=0" in signed_out.cookies[0]
    assert browser.get("/api/v1/second-factor").status == 401


def test_a_user_with_a_second_factor_needs_its_code_too(monkeypatch: pytest.MonkeyPatch) -> None:
    make_account()
    user = make_ann(totp=b"sealed")
    monkeypatch.setattr(sign_in, "use_code", lambda _, code: code == "123456")
    missing = attempt()
    assert (missing.status, missing.error["code"]) == (403, "2fa_required")
    assert missing.body["methods"] == ["totp"]
    assert missing.cookies == []
    assert attempt(code="654321").status == 401
    assert attempt(password="wrong", code="123456").status == 401
    assert attempt(code="123456").status == 200
    (session,) = sessions.of_user(replace(user))
    assert session.second_factor


def test_codes_are_not_guessed_without_delay(monkeypatch: pytest.MonkeyPatch) -> None:
    make_account()
    make_ann(totp=b"sealed")
    monkeypatch.setattr(sign_in, "use_code", lambda _, code: code == "123456")
    with moving_clock(1_700_000_000.0):
        statuses = [attempt(code=f"{number:06d}").status for number in range(8)]
        assert statuses == [401] * 6 + [429] * 2
        refusal = attempt(code="123456")
    assert refusal.status == 429
    assert int(refusal.headers["Retry-After"]) == 2


def test_a_known_device_signs_in_while_others_guess() -> None:
    make_account()
    user = make_ann()
    with moving_clock(1_700_000_000.0):
        device = browser_of(attempt())
        for number in range(20):
            attempt(password="wrong", client=NOBODY.at(f"198.51.100.{number}"))
        assert attempt(password="wrong", client=NOBODY.at("198.51.100.1")).status == 429
        assert attempt(client=Client("", device.headers, "198.51.100.1")).status == 200
        users.change(user.id, lambda each: replace(each, stamp="new"))
        assert attempt(client=Client("", device.headers, "198.51.100.1")).status == 200
        make_user(email="bob@acme.example", password=HASH)
        for _ in range(6):
            attempt("bob@acme.example", "wrong", NOBODY.at("203.0.113.9"))
        of_another = attempt("bob@acme.example", client=Client("", device.headers, "203.0.113.9"))
        assert of_another.status == 429


def test_a_forged_cookie_of_a_device_is_none() -> None:
    make_account()
    user = make_ann()
    for text in ("", "x", f"{user.id}", "AAAA" * 10):
        client = Client("", {"Cookie": f"device={text}"})
        assert attempt(client=client).status == 200


def test_sign_ins_and_refused_ones_of_known_users_are_in_the_audit_log() -> None:
    make_account()
    user = make_ann(subaccount_id=None)
    attempt(password="wrong")
    attempt("nobody@acme.example")
    browser = browser_of(attempt())
    assert browser.post("/api/v1/sign-out", None).status == 204
    outcomes = [(each["resource"], each["action"], each["outcome"]) for each in lines()]
    assert outcomes == [
        ("sign-in", "POST", "refused"),
        ("sign-in", "POST", "done"),
        ("sign-out", "POST", "done"),
    ]
    assert {each["resource_id"] for each in lines()} == {user.id}
    assert {each["actor_id"] for each in lines()} == {user.id}
    assert "acme.example" not in str(lines())
    assert [each["outcome"] for each in lines(0)] == ["refused"]
    assert "acme.example" not in str(lines(0))


def test_a_session_is_not_begun_without_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    make_account()
    user = make_ann()
    monkeypatch.setattr(audit, "_lines", Table("no-such-table"))
    assert attempt().status == 500
    assert sessions.of_user(user) == []


def test_a_key_has_no_session_and_no_profile() -> None:
    make_account()
    key = make_key()
    assert key.get("/api/v1/me").status == 403
    assert key.post("/api/v1/sign-out", None).status == 403
    assert key.get("/api/v1/sessions").status == 403


def test_an_account_that_asks_later_holds_back_sessions_without_a_factor() -> None:
    make_account()
    make_ann()
    browser = browser_of(attempt())
    accounts.change(1, lambda account: replace(account, tfa_required=True))
    config_cache.clear_cache()
    assert browser.get("/api/v1/me").error["code"] == "2fa_setup_required"


def test_a_user_who_is_removed_meanwhile_gets_no_session() -> None:
    user = User(draw_id(), 1, "gone@acme.example", "admin", 0.0, status="active")
    with pytest.raises(Unauthorized):
        sign_in.begin_session(Request(), user, method="password", second_factor=False)


def test_a_user_with_a_new_password_meanwhile_gets_no_session() -> None:
    make_account()
    user = make_ann()
    users.change(user.id, lambda each: replace(each, stamp="second"))
    with pytest.raises(Unauthorized):
        sign_in.begin_session(Request(), user, method="password", second_factor=False)
    assert list(sessions._of_user(user.id)) == []


def test_a_session_that_has_still_to_show_a_factor_makes_no_device() -> None:
    """Each device has guesses of its own: single sign-on would give as many as are wanted."""
    make_account()
    user = make_ann(totp=b"sealed")
    reply = sign_in.begin_session(Request(), user, method="acme", second_factor=False)
    assert [each.partition("=")[0] for each in reply.cookies] == ["session"]


def test_codes_are_not_guessed_from_many_networks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each network would pass the delay of the address once, and there are few codes."""
    make_account()
    make_ann(totp=b"sealed")
    monkeypatch.setattr(sign_in, "use_code", lambda user, code: code == "the code")
    with moving_clock(1_700_000_000.0) as clock:
        answers = [
            attempt(code="000000", client=NOBODY.at(f"198.51.100.{number}")).status
            for number in range(20)
        ]
        assert answers == [401] * 6 + [429] * 14
        # The password itself is not delayed, and there is no failure where the code was not tried
        assert attempt(client=NOBODY.at("198.51.100.19")).error["code"] == "2fa_required"
        clock.passes(2)
        device = browser_of(attempt(code="the code", client=NOBODY.at("203.0.113.1")))
        attempt(code="000000", client=NOBODY.at("203.0.113.2"))
        assert attempt(code="the code", client=NOBODY.at("203.0.113.3")).status == 429
        own_browser = Client("", device.headers, "203.0.113.3")
        assert attempt(code="the code", client=own_browser).status == 200


def test_codes_of_sessions_that_must_show_one_are_counted_together() -> None:
    make_account()
    user = make_ann(totp=b"sealed")
    with moving_clock(1_700_000_000.0):
        answers = [
            people_sign_in(user, method="acme")
            .at(f"198.51.100.{number}")
            .put("/api/v1/second-factor", {"code": "wrong"})
            .status
            for number in range(8)
        ]
    assert answers == [400] * 6 + [429] * 2
