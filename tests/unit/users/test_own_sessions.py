"""Signed-in users change themselves, and see and end their sessions."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chalicelib.users import mailed_links
from chalicelib.users.store import users
from tests.unit.calling import Client
from tests.unit.moving_clock import moving_clock
from tests.unit.people import make_account, make_user, sign_in
from tests.unit.users.test_sign_in import HASH, PASSWORD, attempt, browser_of, lines

pytestmark = pytest.mark.usefixtures("cloud")

ME = "/api/v1/me"
NEW = "another long password"  # pragma: allowlist secret


def test_a_profile_tells_who_is_signed_in_and_the_token_of_changes() -> None:
    make_account()
    browser = sign_in(make_user(email="ann@acme.example", role="reporting", name="Ann"))
    me = browser.get(ME).results
    assert (me["email"], me["name"], me["role"]) == ("ann@acme.example", "Ann", "reporting")
    assert me["csrf_token"] == browser.headers["X-CSRF-Token"]
    assert "metrics/view" in me["grants"]
    assert me["account"] == {
        "customer_id": 1,
        "company_name": "Company 1",
        "tfa_required": False,
    }
    assert browser.put(ME, {"name": "Anna"}).results["name"] == "Anna"


def test_a_new_password_needs_the_old_one_and_ends_all_other_sessions() -> None:
    make_account()
    make_user(email="ann@acme.example", password=HASH)
    browser, other = browser_of(attempt()), browser_of(attempt())
    assert browser.put(ME, {"password": NEW}).error["param"] == "old_password"
    assert browser.put(ME, {"password": NEW, "old_password": "wrong"}).status == 403
    assert other.get(ME).status == 200
    assert browser.put(ME, {"password": "short", "old_password": PASSWORD}).status == 400
    assert browser.put(ME, {"password": NEW, "old_password": PASSWORD}).status == 200
    assert browser.get(ME).status == 200
    assert other.get(ME).status == 401
    assert attempt().status == 401
    assert attempt(password=NEW).status == 200
    outcomes = [
        (each["resource"], each["outcome"]) for each in lines() if each["resource"] != "sign-in"
    ]
    assert outcomes == [("me", "refused"), ("users", "done")]
    assert "argon2" not in str(lines())


def test_guessing_the_old_password_is_delayed() -> None:
    make_account()
    make_user(email="ann@acme.example", password=HASH)
    with moving_clock(1_700_000_000.0):
        browser = browser_of(attempt())
        body = {"password": NEW, "old_password": "wrong"}
        assert [browser.put(ME, body).status for _ in range(7)] == [403] * 6 + [429]


def test_a_user_without_a_password_sets_one() -> None:
    make_account()
    browser = sign_in(make_user(email="ann@acme.example"))
    assert browser.put(ME, {"password": NEW}).results["has_password"]
    assert attempt(password=NEW).status == 200
    assert browser.put(ME, {"password": PASSWORD}).status == 400


def test_a_session_that_showed_a_factor_keeps_it_with_a_new_password() -> None:
    make_account(tfa_required=True)
    browser = sign_in(make_user(totp=b"sealed"), second_factor=True)
    assert browser.put(ME, {"password": NEW}).status == 200
    assert browser.get(ME).status == 200


def test_own_sessions_are_shown_and_ended() -> None:
    make_account()
    user = make_user()
    one, two = sign_in(user), sign_in(user)
    stranger = sign_in(make_user())
    views = {each["current"]: each for each in one.get("/api/v1/sessions").results}
    assert views[True]["id"] == one.get(ME).results["session_id"]
    assert (views[False]["ip"], views[False]["user_agent"]) == ("192.0.2.1", "tests")
    assert views[False]["method"] == "password"
    ended = f"/api/v1/sessions/{views[False]['id']}"
    assert stranger.delete(ended).status == 404
    assert one.delete(ended).status == 204
    assert one.delete(ended).status == 404
    assert [each.get(ME).status for each in (one, two)] == [200, 401]


def test_a_signed_out_session_is_over_and_its_cookie_removed() -> None:
    make_account()
    browser = sign_in(make_user())
    response = browser.post("/api/v1/sign-out", None)
    assert response.status == 204
    assert response.cookies == ["session=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0"]
    assert browser.get(ME).status == 401


def test_changes_of_oneself_need_the_token_against_forgery() -> None:
    make_account()
    user = make_user()
    browser = sign_in(user)
    forged = Client("", {"Cookie": browser.headers["Cookie"]})
    assert forged.put(ME, {"name": "x"}).status == 403
    assert forged.post("/api/v1/sign-out", None).status == 403
    assert forged.post("/api/v1/users", {"email": "x@acme.example", "role": "admin"}).status == 403
    assert browser.get(ME).results["name"] == ""


def test_a_disabled_user_is_out_at_once() -> None:
    make_account()
    user = make_user(role="developer")
    browser = sign_in(user)
    users.change(user.id, lambda each: replace(each, status="disabled"))
    assert browser.get(ME).status == 401


def test_a_new_password_stops_the_links_that_were_mailed_before() -> None:
    make_account()
    user = make_user(email="ann@acme.example", password=HASH)
    token, link = mailed_links.draw(user.id, 3600)
    users.change(user.id, lambda each: replace(each, reset=link))
    browser = browser_of(attempt())
    assert browser.put(ME, {"password": NEW, "old_password": PASSWORD}).status == 200
    reset = Client("").post(f"/api/v1/password-reset/{token}", {"password": f"{NEW} again"})
    assert reset.status == 404
    assert attempt(password=NEW).status == 200
