"""The port asks for a login where a file of passwords is set; the console works with it."""

from __future__ import annotations

import asyncio
import base64
from pathlib import Path
from typing import Any

import pytest

from infrastructure.local.mailpit.port_logins import COOKIE
from tests.unit.infrastructure.local.mailpit.mailpit_client import MailpitClient
from tests.unit.people import make_account

MESSAGES, SEND = "/api/v1/messages", "/api/v1/send"
MESSAGE = {"From": {"Email": "a@shop.test"}, "To": [{"Email": "b@shop.test"}]}
PAGE = (b"accept", b"text/html")


def basic(text: str) -> tuple[bytes, bytes]:
    return b"authorization", b"Basic " + base64.b64encode(text.encode())


RIGHT, SENDER = basic("ann:pass:word"), basic("app:other")


def file_of(folder: Path, line: str) -> str:
    path = folder / f"{line.partition(':')[0]}.txt"
    path.write_text(f"{line}\n")
    return str(path)


@pytest.fixture
def client(tmp_path: Path) -> MailpitClient:
    return MailpitClient(tmp_path, {"MAILPIT_PASSWORDS": file_of(tmp_path, "ann:pass:word")})


def cookie_of(client: MailpitClient, *headers: tuple[bytes, bytes]) -> str:
    return client.ask("GET", "/console/app.js", headers=headers).headers.get("set-cookie", "")


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [basic("ann:wrong")],
        [basic("bob:pass:word")],
        [(b"authorization", b"Basic !")],
        [(b"authorization", b"Bearer x")],
        [RIGHT, RIGHT],
        [(b"cookie", f"{COOKIE}=x; other=y".encode())],
    ],
)
def test_nothing_is_shown_without_a_login(
    client: MailpitClient, headers: list[tuple[bytes, bytes]]
) -> None:
    client.add()
    for method, path in (
        ("GET", MESSAGES),
        ("DELETE", MESSAGES),
        ("POST", SEND),
        ("OPTIONS", MESSAGES),
        ("GET", "/"),
        ("GET", "/view/latest.txt"),
        ("GET", "/console/"),
        ("GET", "/local/mailbox"),
    ):
        response = client.ask(method, path, MESSAGE, headers=[*headers, PAGE])
        assert (response.status, response.body) == (401, b"Unauthorized.\n")
        assert response.headers["www-authenticate"] == 'Basic realm="Login"'
        assert "set-cookie" not in response.headers
    assert client.ask("GET", MESSAGES, headers=[RIGHT]).json["total"] == 1


@pytest.mark.parametrize("path", ["/livez", "/readyz"])
def test_health_is_told_to_all_and_opens_nothing_else(client: MailpitClient, path: str) -> None:
    response = client.ask("GET", path, headers=[PAGE])
    assert (response.status, "set-cookie" in response.headers) == (200, False)


def test_a_name_of_the_file_logs_in(client: MailpitClient) -> None:
    assert client.ask("GET", MESSAGES, headers=[RIGHT]).status == 200
    response = client.ask("POST", SEND, MESSAGE, headers=[RIGHT])
    assert response.status == 200
    message = client.ask("GET", f"/api/v1/message/{response.json['ID']}", headers=[RIGHT]).json
    assert message["Username"] == "ann"


def test_a_page_that_was_opened_with_a_login_needs_no_further_one(client: MailpitClient) -> None:
    cookie = cookie_of(client, RIGHT, PAGE)
    assert cookie.endswith("; Path=/; HttpOnly; SameSite=Strict")
    pair = (b"cookie", b"a=b; " + cookie.partition(";")[0].encode())
    # A program gets none, and a page that has one gets no other
    assert cookie_of(client, RIGHT) == cookie_of(client, RIGHT, PAGE, pair) == ""
    key = (b"authorization", b"a-key")
    for path in ("/console/", "/local/mailbox", MESSAGES):
        assert client.ask("GET", path, headers=[pair, key]).status in (200, 299)
    assert client.ask("POST", SEND, MESSAGE, headers=[pair]).status == 200


def test_an_api_key_opens_what_the_service_guards_itself(client: MailpitClient) -> None:
    key = (b"authorization", b"a-key")
    for path in ("/api/v1/account", "/console/service.json"):
        assert client.ask("GET", path, headers=[key]).status == 299
        assert client.ask("GET", path).status == 401
    for path in (MESSAGES, "/", "/local/mailbox", "/console/", "/t/link"):
        assert client.ask("GET", path, headers=[key]).status == 401


def test_who_opens_the_console_is_signed_in_after_a_login_only(
    client: MailpitClient, cloud: None
) -> None:
    make_account()
    key = (b"authorization", b"a-key")
    response = client.ask("GET", "/console/", headers=[key, PAGE])
    assert (response.status, "set-cookie" in response.headers) == (401, False)
    cookies = client.ask("GET", "/console/", headers=[RIGHT, PAGE]).headers["set-cookie"]
    assert COOKIE in cookies
    assert "session=" in cookies


def test_the_service_sees_keys_and_no_logins_of_the_port(
    client: MailpitClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    values: list[bytes] = []

    async def service(scope: Any, receive: Any, send: Any) -> None:
        values.extend(value for name, value in scope["headers"] if name == b"authorization")
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    monkeypatch.setattr(client.service.port, "_service", service)
    client.ask("GET", "/api/v1/account", headers=[RIGHT])
    client.ask("GET", "/api/v1/account", headers=[(b"authorization", b"a-key")])
    assert values == [b"a-key"]


def test_sending_has_logins_of_its_own(tmp_path: Path) -> None:
    environ = {"MAILPIT_SEND_PASSWORDS": file_of(tmp_path, "app:other")}
    open_client = MailpitClient(tmp_path / "a", environ)
    environ["MAILPIT_PASSWORDS"] = file_of(tmp_path, "ann:pass:word")
    client = MailpitClient(tmp_path / "b", environ)
    for each in (open_client, client):
        statuses = [
            each.ask("POST", SEND, MESSAGE, headers=headers).status
            for headers in ([], [RIGHT], [SENDER])
        ]
        assert statuses == [401, 401, 200]
        assert (
            each.ask("POST", SEND, MESSAGE, headers=[PAGE, SENDER]).headers.get("set-cookie")
            is None
        )
    assert open_client.ask("GET", MESSAGES).status == 200
    assert client.ask("GET", MESSAGES, headers=[SENDER]).status == 401


def test_anybody_may_send_where_the_setting_says_so(tmp_path: Path) -> None:
    environ = {
        "MAILPIT_PASSWORDS": file_of(tmp_path, "ann:pass:word"),
        "MAILPIT_SEND_PASSWORDS": "any",
    }
    client = MailpitClient(tmp_path, environ)
    for headers in ([], [basic("x:y")]):
        assert client.ask("POST", SEND, MESSAGE, headers=headers).status == 200
    assert client.ask("GET", MESSAGES).status == 401


def test_a_browser_may_ask_before_a_page_of_another_origin_logs_in(tmp_path: Path) -> None:
    environ = {
        "MAILPIT_PASSWORDS": file_of(tmp_path, "ann:pass:word"),
        "MAILPIT_ORIGINS": "app.test",
    }
    client = MailpitClient(tmp_path, environ)
    origin = (b"origin", b"http://app.test")
    assert client.ask("OPTIONS", MESSAGES, headers=[origin]).status == 200
    for headers, status in (([], 401), ([RIGHT], 200)):
        response = client.ask("GET", MESSAGES, headers=[origin, *headers])
        assert response.status == status
        assert response.headers["access-control-allow-origin"] == "http://app.test"


@pytest.mark.parametrize("headers", [[], [RIGHT]])
def test_news_need_a_login(client: MailpitClient, headers: list[tuple[bytes, bytes]]) -> None:
    messages: list[Any] = []
    events = iter([{"type": "websocket.connect"}])

    async def receive() -> Any:
        return next(events, {"type": "websocket.disconnect"})

    async def send(message: Any) -> None:
        messages.append(message["type"])

    scope = {
        "type": "websocket",
        "path": "/api/events",
        "raw_path": b"/api/events",
        "headers": [(b"host", b"localhost"), *headers],
        "client": ("127.0.0.1", 1),
    }

    async def serve() -> None:
        await client.service.port(scope, receive, send)
        await client.service.news.stop()

    asyncio.run(serve())
    assert messages[0] == ("websocket.accept" if headers else "websocket.close")
