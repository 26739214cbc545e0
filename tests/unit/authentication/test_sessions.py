"""A signed-in user is known by the cookie of a session."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from chalicelib.accounts.store import accounts
from chalicelib.core import config_cache
from chalicelib.core.settings import settings
from chalicelib.users import cookies
from chalicelib.users.model import User
from chalicelib.users.store import sessions, users
from chalicelib.users.store.sessions import Session
from tests.fake_cloud import aws_requests
from tests.unit.calling import Client
from tests.unit.moving_clock import moving_clock
from tests.unit.people import make_account, make_key, make_subaccount, make_user, sign_in

pytestmark = pytest.mark.usefixtures("cloud")

READ, CHANGE = "/api/v1/templates", "/api/v1/account"


def without_token(browser: Client) -> Client:
    return Client("", {"Cookie": browser.headers["Cookie"]})


def renamed(browser: Client) -> int:
    return browser.put(CHANGE, {"company_name": "Other"}).status


def test_a_session_acts_for_its_user() -> None:
    make_account()
    browser = sign_in(make_user())
    assert browser.get(READ).status == 200
    assert renamed(browser) == 200


@pytest.mark.parametrize("token", ["", "aaaaaaaaaaaaaaaa", "ä"])
def test_a_change_without_the_sessions_token_is_refused(token: str) -> None:
    make_account()
    browser = without_token(sign_in(make_user()))
    forged = Client("", browser.headers | ({"X-CSRF-Token": token} if token else {}))
    assert forged.get(READ).status == 200
    assert renamed(forged) == 403
    assert accounts.get_cached(1).company_name == "Company 1"


def test_the_token_of_another_session_does_not_do() -> None:
    make_account()
    user = make_user()
    browser, other = sign_in(user), sign_in(user)
    assert (
        renamed(Client("", browser.headers | {"X-CSRF-Token": other.headers["X-CSRF-Token"]}))
        == 403
    )


def test_a_key_goes_before_a_cookie_and_needs_no_token() -> None:
    make_account()
    browser = without_token(sign_in(make_user(role="reporting")))
    key = make_key(grants=["account/manage"])
    assert renamed(Client(key.key, browser.headers)) == 200
    assert Client("wrong", browser.headers).get(READ).status == 401


@pytest.mark.parametrize("cookie", ["", "1.x.y", "1." + "0" * 20 + "." + "A" * 43])
def test_a_cookie_that_names_no_session_is_refused(cookie: str) -> None:
    make_account()
    assert Client("", {"Cookie": f"session={cookie}"}).get(READ).status == 401


def test_a_cookie_of_another_account_is_refused() -> None:
    make_account()
    make_account(2)
    browser = sign_in(make_user())
    text = str(browser.headers["Cookie"]).replace("session=1.", "session=2.")
    assert Client("", {"Cookie": text}).get(READ).status == 401


def test_a_session_ends_when_it_was_idle_and_in_any_case() -> None:
    make_account()
    with moving_clock(1_000_000.0) as clock:
        browser = sign_in(make_user())
        clock.now += settings().session_idle - 1
        assert browser.get(READ).status == 200
        clock.now += settings().session_idle - 1
        assert browser.get(READ).status == 200
        clock.now += settings().session_idle
        assert browser.get(READ).status == 401
        browser = sign_in(make_user())
        for _ in range(settings().session_lifetime // 36_000):
            clock.now += 36_000
            assert browser.get(READ).status == 200
        clock.now += 36_000
        assert browser.get(READ).status == 401


def test_a_new_stamp_or_a_disabled_user_ends_all_sessions() -> None:
    make_account()
    for change in ({"stamp": "second"}, {"status": "disabled"}):
        make_user()
        user = make_user()
        browser = sign_in(user)
        assert browser.get(READ).status == 200
        users.change(user.id, lambda each, change=change: replace(each, **change))  # type: ignore[misc]
        assert browser.get(READ).status == 401


def test_a_session_that_was_ended_works_no_longer() -> None:
    make_account()
    user = make_user()
    browser = sign_in(user)
    (session,) = sessions.of_user(user)
    assert sessions.end(user.id, session.id)
    assert browser.get(READ).status == 401
    assert not sessions.end(user.id, session.id)


@pytest.mark.spec("5-r9")
@pytest.mark.spec("2.7-t7")
def test_where_the_account_asks_for_a_second_factor_a_session_without_one_does_nothing() -> None:
    make_account()
    user = make_user()
    browser, second = sign_in(user), sign_in(user, second_factor=True)
    assert second.put(CHANGE, {"tfa_required": True}).status == 200
    config_cache.clear_cache()
    refusal = browser.get(READ)
    assert (refusal.status, refusal.error["code"]) == (403, "2fa_setup_required")
    assert second.get(READ).status == 200


def test_a_user_of_a_subaccount_cannot_act_for_another_part() -> None:
    make_account()
    one, two = make_subaccount().id, make_subaccount().id
    browser = sign_in(make_user(role="developer", subaccount_id=one))
    assert browser.get("/api/v1/webhooks").status == 200
    assert browser.on_behalf_of(one).get("/api/v1/webhooks").status == 200
    assert browser.on_behalf_of(two).get("/api/v1/webhooks").status == 403
    assert browser.on_behalf_of(0).get("/api/v1/webhooks").status == 403
    assert browser.get("/api/v1/subaccounts").status == 403


@pytest.mark.cost
def test_a_request_by_cookie_costs_one_request_to_aws_and_none_while_it_is_cached() -> None:
    make_account()
    browser = sign_in(make_user())
    path = "/api/v1/authenticate/grants"
    with aws_requests() as first:
        assert browser.get(path).status == 200
    with aws_requests() as second:
        assert browser.get(path).status == 200
    assert [each.operation for each in first] == ["BatchGetItem"]
    assert list(second) == []


@pytest.mark.parametrize(
    ("url", "cookie"),
    [
        ("http://localhost:8080", ("session", "Path=/; HttpOnly; SameSite=Lax")),
        ("https://mail.acme.example", ("__Host-session", "Path=/; HttpOnly; SameSite=Lax; Secure")),
        (
            "https://abc.execute-api.eu-west-1.amazonaws.com/api",
            ("__Secure-session", "Path=/api; HttpOnly; SameSite=Lax; Secure"),
        ),
    ],
)
def test_the_cookie_fits_the_address_of_the_service(
    monkeypatch: pytest.MonkeyPatch, url: str, cookie: tuple[str, str]
) -> None:
    monkeypatch.setenv("PUBLIC_URL", url)
    settings.cache_clear()
    assert cookies.session_cookie() == cookie


def end_sessions_elsewhere(user: User, **changes: Any) -> None:
    """Change a user as another process does, so that the cache of this one goes on as it was."""
    cached_items = dict(config_cache._entries)
    users.change(user.id, lambda each: replace(each, stamp="second", **changes))
    config_cache._entries.update(cached_items)


def test_a_new_session_works_where_a_former_state_of_its_user_is_in_the_cache() -> None:
    make_account()
    user = make_user()
    former = sign_in(user)
    assert former.get(READ).status == 200
    end_sessions_elsewhere(user)
    assert sign_in(replace(user, stamp="second")).get(READ).status == 200
    assert former.get(READ).status == 401


def test_the_cache_does_not_keep_a_session_that_has_ended_beyond_its_time() -> None:
    make_account()
    user = make_user()
    with moving_clock(1_700_000_000.0) as clock:
        browser = sign_in(user)
        assert browser.get(READ).status == 200
        end_sessions_elsewhere(user)
        clock.passes(settings().key_cache_seconds / 2)
        assert browser.get(READ).status == 200
        clock.passes(settings().key_cache_seconds / 2)
        assert browser.get(READ).status == 401


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/api/v1/second-factor", {"type": "totp"}),
        ("PUT", "/api/v1/me", {"password": "a thief's new password"}),  # pragma: allowlist secret
        ("DELETE", "/api/v1/second-factor", None),
        ("PUT", CHANGE, {"company_name": "Other"}),
    ],
)
def test_a_session_that_ended_in_another_process_changes_nothing_and_stays_over(
    method: str, path: str, body: Any
) -> None:
    make_account()
    user = make_user()
    browser = sign_in(user)
    assert browser.get(READ).status == 200
    end_sessions_elsewhere(user)
    assert browser.call(method, path, body).status == 401
    config_cache.clear_cache()
    assert browser.get(READ).status == 401


def test_a_user_who_was_demoted_in_another_process_does_not_undo_it() -> None:
    make_account()
    make_user()
    user = make_user()
    browser = sign_in(user)
    assert browser.get("/api/v1/users").status == 200
    end_sessions_elsewhere(user, role="reporting")
    assert browser.put(f"/api/v1/users/{user.id}", {"role": "admin"}).status == 401
    assert (
        browser.post("/api/v1/api-keys", {"label": "a", "grants": ["users/manage"]}).status == 401
    )
    after = users.get(user.id)
    assert after
    assert after.role == "reporting"


@pytest.mark.parametrize("path", ["/api/v1/second-factor", "/api/v1/me"])
def test_sessions_that_end_during_a_change_stay_over(
    monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    make_account()
    user = make_user(totp=b"sealed")
    browser = sign_in(user, second_factor=True)
    get = sessions.get

    def then_end(user_id: str, session_id: str) -> Session | None:
        session = get(user_id, session_id)
        users.change(user_id, lambda each: replace(each, stamp="second"))
        return session

    monkeypatch.setattr(sessions, "get", then_end)
    body = {"password": "a thief's new password"}  # pragma: allowlist secret
    is_me = path.endswith("me")
    reply = browser.put(path, body) if is_me else browser.delete(path)
    assert reply.status == 401
    assert browser.get(READ).status == 401
    after = users.get(user.id)
    assert after
    assert (after.password, after.totp) == ("", b"sealed")


@pytest.mark.cost
def test_a_change_by_cookie_costs_one_request_to_aws_more_than_by_key() -> None:
    make_account()
    browser = sign_in(make_user())
    with aws_requests() as first:
        assert browser.put("/api/v1/users/none", {}).status == 404
    with aws_requests() as second:
        assert browser.put("/api/v1/users/none", {}).status == 404
    assert [each.operation for each in first] == ["BatchGetItem", "GetItem"]
    assert [each.operation for each in second] == ["BatchGetItem", "GetItem"]
