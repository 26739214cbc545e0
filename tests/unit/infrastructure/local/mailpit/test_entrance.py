"""A browser that opens the port ends in the mailbox, signed in as one who only looks."""

from __future__ import annotations

from pathlib import Path

import pytest

from chalicelib.users import roles
from chalicelib.users.model import DISABLED
from chalicelib.users.store import users
from infrastructure.local.mailpit.entrance import ADDRESS
from tests.unit.calling import Client
from tests.unit.infrastructure.local.mailpit.mailpit_client import MailpitClient
from tests.unit.people import make_account

pytestmark = pytest.mark.usefixtures("cloud")

BROWSER = (b"accept", b"text/html,*/*")


@pytest.fixture
def client(tmp_path: Path) -> MailpitClient:
    make_account()
    return MailpitClient(tmp_path)


def session_of(client: MailpitClient, *headers: tuple[bytes, bytes], page: str = "/") -> str:
    cookies = client.ask("GET", page, headers=[BROWSER, *headers]).headers.get("set-cookie", "")
    return next((each.partition(";")[0] for each in cookies.split("\n") if "session=" in each), "")


def test_a_browser_gets_the_session_of_one_who_changes_nothing(client: MailpitClient) -> None:
    browser = Client("", {"Cookie": session_of(client)})
    person = browser.get("/api/v1/me").results
    assert (person["email"], person["role"]) == (ADDRESS, roles.REPORTING)
    assert browser.get("/api/v1/account").status == 200
    browser = Client("", {"Cookie": session_of(client), "X-CSRF-Token": person["csrf_token"]})
    assert browser.post("/api/v1/transmissions", {}).status == 403


def test_one_who_is_signed_in_stays_so(client: MailpitClient) -> None:
    cookie = session_of(client).encode()
    assert session_of(client, (b"cookie", cookie)) == ""
    assert session_of(client, (b"cookie", cookie + b"x")) != ""


def test_a_bookmark_of_the_console_needs_no_sign_in(client: MailpitClient) -> None:
    cookie = session_of(client, page="/console/")
    browser = Client("", {"Cookie": cookie})
    assert browser.get("/api/v1/me").results["email"] == ADDRESS
    assert session_of(client, (b"cookie", cookie.encode()), page="/console/") == ""
    assert session_of(client, page="/console/app.js") == ""
    response = client.ask("GET", "/console/")
    assert (response.status, response.body) == (299, b"/console/")
    assert "set-cookie" not in response.headers


def test_a_program_gets_no_session(client: MailpitClient) -> None:
    assert "set-cookie" not in client.ask("GET", "/").headers
    assert "set-cookie" not in client.ask("HEAD", "/", headers=[BROWSER]).headers
    assert users.by_address(ADDRESS) is None


@pytest.mark.parametrize(("use", "begins"), [(b"document", True), (b"empty", False)])
def test_only_a_page_that_is_opened_gets_a_session(
    client: MailpitClient, use: bytes, *, begins: bool
) -> None:
    headers = [(b"sec-fetch-site", b"cross-site"), (b"sec-fetch-dest", use)]
    assert bool(session_of(client, *headers)) is begins
    assert (users.by_address(ADDRESS) is not None) is begins


def test_a_visitor_who_was_disabled_stays_so(client: MailpitClient) -> None:
    session_of(client)
    user = users.by_address(ADDRESS)
    assert user
    from dataclasses import replace

    users.change(user.id, lambda present: replace(present, status=DISABLED), silent=True)
    response = client.ask("GET", "/", headers=[BROWSER])
    assert (response.status, response.headers.get("set-cookie")) == (302, None)
