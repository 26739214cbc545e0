"""Cookies that are made to cost, to confuse or to show in a log end in a plain refusal."""

from __future__ import annotations

import io
import logging
from typing import Any

import pytest

from app import app
from chalicelib.core import logs
from chalicelib.core.request import Request
from chalicelib.core.settings import settings
from chalicelib.users import cookies
from tests.unit.calling import Client
from tests.unit.core.gateway_events import event
from tests.unit.linear_time import assert_linear
from tests.unit.people import make_account, make_user, sign_in

READ, CHANGE = "/api/v1/authenticate/grants", "/api/v1/api-keys"


@pytest.fixture
def browser(cloud: None) -> Client:
    make_account()
    return sign_in(make_user())


def cookie_of(browser: Client) -> str:
    return str(browser.headers["Cookie"])


def status(cookie: str | list[str], method: str = "GET", path: str = READ, **headers: str) -> int:
    fields: dict[str, Any] = {"Cookie": cookie, "Content-Type": "application/json", **headers}
    return int(app(event(app, method, path, headers=fields, body=b"{}"), None)["statusCode"])


@pytest.mark.parametrize(
    "spoil",
    [
        lambda cookie: cookie * 50_000,
        lambda cookie: cookie + "A" * 1_000_000,
        lambda cookie: "session=; " + cookie,
        lambda cookie: cookie.replace("=1.", "=\u0661."),
        lambda cookie: cookie + "\r\nX-CSRF-Token: x",
        lambda cookie: cookie.replace(".", ".\x00", 1),
        lambda cookie: cookie + "\xe9",
        lambda cookie: cookie + "\ud800",
        lambda cookie: cookie.replace("session=", "Session="),
        lambda cookie: cookie.replace("session=", 'session="') + '"',
        lambda cookie: cookie.replace("=1.", "=99999999999999999999."),
        lambda cookie: cookie.replace("=1.", "=0."),
    ],
)
def test_a_spoilt_cookie_signs_nobody_in(browser: Client, spoil: Any) -> None:
    assert status(cookie_of(browser)) == 200
    assert status(spoil(cookie_of(browser))) == 401


def test_a_session_is_found_among_many_cookies_and_in_any_line(browser: Client) -> None:
    others = [f"c{number}=v" for number in range(5_000)]
    assert status("; ".join([*others, cookie_of(browser)])) == 200
    assert status([*others[:50], cookie_of(browser)]) == 200


@pytest.mark.parametrize("token", ["", "x" * 1_000_000, "\xe9", "\ud800", "\x00", "null"])
def test_a_spoilt_token_lets_nothing_be_changed(browser: Client, token: str) -> None:
    assert status(cookie_of(browser), "POST", CHANGE, **{"X-CSRF-Token": token}) == 403


def test_the_time_to_read_cookies_grows_with_their_length() -> None:
    for part in ("a=b; ", ";", "=", "session=1.", "session=1.0123456789abcdef0123."):
        assert_linear(
            lambda text: cookies.read_cookie(Request(headers={"cookie": text}).cookie("session")),
            part * 20_000,
        )


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", READ),
        ("POST", CHANGE),
        ("POST", "/api/v1/invitations/secret-of-a-mail"),
        ("POST", "/api/v1/password-reset/secret-of-a-mail"),
        ("POST", "/api/v1/nowhere/secret-of-a-mail"),
    ],
)
def test_no_log_has_cookies_tokens_or_what_links_of_mail_hold(
    browser: Client, monkeypatch: pytest.MonkeyPatch, method: str, path: str
) -> None:
    monkeypatch.setenv("LOG_FORMAT", "json")
    settings.cache_clear()
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logs.JsonLines())
    log = logging.getLogger("chalicelib")
    monkeypatch.setattr(log, "handlers", [handler])
    monkeypatch.setattr(log, "propagate", False)
    log.setLevel(logging.DEBUG)
    token = str(browser.headers["X-CSRF-Token"])
    try:
        status(cookie_of(browser), method, path, **{"X-CSRF-Token": token})
    finally:
        log.setLevel(logging.NOTSET)
        monkeypatch.undo()
        settings.cache_clear()
    lines = stream.getvalue()
    assert '"answered"' in lines
    secrets = [cookie_of(browser)[-43:], token, "secret-of-a-mail"]
    assert [secret for secret in secrets if secret in lines] == []


def test_no_reply_lets_the_pages_of_another_site_use_a_session(browser: Client) -> None:
    headers = {"Cookie": cookie_of(browser), "Origin": "https://evil.test"}
    for method in ("GET", "OPTIONS"):
        reply = app(event(app, method, READ, headers=headers), None)
        names = {name.lower() for name in [*reply["headers"], *reply["multiValueHeaders"]]}
        assert not any(name.startswith("access-control-") for name in names)
