from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

import pytest

from infrastructure.local.gateway.replies import reply_json
from infrastructure.machine.edge.application import Edge
from infrastructure.machine.edge.proxies import TrustedProxies

URL = "https://mail.a.test"


@dataclass
class Answered:
    """What was sent."""

    messages: list[Any] = field(default_factory=list)

    @property
    def status(self) -> int:
        return int(self.messages[0]["status"])

    @property
    def headers(self) -> dict[str, str]:
        pairs = self.messages[0]["headers"]
        assert len({name for name, _ in pairs}) == len(pairs)
        return {name.decode(): text.decode() for name, text in pairs}

    @property
    def body(self) -> bytes:
        return b"".join(message.get("body", b"") for message in self.messages)


async def show(scope: Any, receive: Any, send: Any) -> None:
    """Answer with what reached the application."""
    if scope["raw_path"] == b"/fault":
        raise RuntimeError("secret")
    if scope["raw_path"] == b"/late-fault":
        await send({"type": "http.response.start", "status": 200, "headers": []})
        raise RuntimeError("secret")
    headers = {
        b"/own": [(b"content-security-policy", b"own")],
        b"/cookies": [(b"set-cookie", b"a=1"), (b"set-cookie", b"b=2")],
    }.get(scope["raw_path"], [])
    if headers:
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body"})
        return
    await reply_json(send, 200, {"path": scope["raw_path"].decode()})


def ask(
    path: str,
    *,
    method: str = "GET",
    scheme: str = "https",
    query: str = "",
    peer: str = "192.0.2.1",
    secure_url: str = URL,
    **headers: str,
) -> Answered:
    """Return the answer to a request."""
    edge = Edge(
        show,
        watching={"/health": lambda scope: (503, "application/json", b"{}")},
        challenge={"token": "token.key"}.get,
        proxies=TrustedProxies.read("10.0.0.1"),
        secure_url=secure_url,
    )
    scope = {
        "type": "http",
        "method": method,
        "scheme": scheme,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "client": (peer, 1),
        "headers": [(n.replace("_", "-").encode(), text.encode()) for n, text in headers.items()],
    }
    answered = Answered()

    async def send(message: Any) -> None:
        answered.messages.append(message)

    async def receive() -> Any:
        return {"type": "http.request", "body": b""}

    asyncio.run(edge(scope, receive, send))
    return answered


def test_pages_in_the_clear_lead_to_the_same_page_under_tls() -> None:
    answer = ask("/console/", scheme="http", query="a=b&c", host="other.test")
    assert (answer.status, answer.headers["location"]) == (308, f"{URL}/console/?a=b&c")
    assert ask("/console/", scheme="http", method="HEAD").status == 308


def test_what_is_not_read_is_refused_in_the_clear() -> None:
    answer = ask("/api/v1/transmissions", scheme="http", method="POST")
    assert answer.status == 403
    assert URL in answer.body.decode()


def test_every_cookie_is_passed_on() -> None:
    lines = ask("/cookies").messages[0]["headers"]
    assert [value for name, value in lines if name == b"set-cookie"] == [b"a=1", b"b=2"]


@pytest.mark.parametrize("path", ["/t/x", "/f/x", "/tracking-check/x"])
def test_links_of_messages_are_followed_in_the_clear(path: str) -> None:
    assert json.loads(ask(path, scheme="http").body) == {"path": path}


@pytest.mark.parametrize("path", ["*", "*@other.test", "*.other.test/x", "other.test:443", ""])
def test_a_path_without_a_slash_leads_nowhere(path: str) -> None:
    for scheme in ("http", "https"):
        answer = ask(path, scheme=scheme)
        assert answer.status == 400
        assert "location" not in answer.headers


def test_without_tls_of_its_own_the_application_is_served_in_the_clear() -> None:
    assert ask("/console/", scheme="http", secure_url="").status == 200


def test_challenges_are_answered_in_the_clear_and_nothing_else_is() -> None:
    answer = ask("/.well-known/acme-challenge/token", scheme="http")
    assert (answer.status, answer.body) == (200, b"token.key")
    assert ask("/.well-known/acme-challenge/other", scheme="http").status == 404


def test_who_watches_gets_an_answer_that_is_not_kept() -> None:
    answer = ask("/health", scheme="http")
    assert (answer.status, answer.headers["cache-control"]) == (503, "no-store")
    assert ask("/health", method="POST").status == 405


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize(
    ("path", "method"),
    [
        ("/x", "GET"),
        ("/health", "GET"),
        ("/health", "POST"),
        ("/.well-known/acme-challenge/token", "GET"),
        ("*", "GET"),
        ("/x", "POST"),
    ],
)
def test_every_answer_has_security_headers(path: str, method: str, scheme: str) -> None:
    headers = ask(path, method=method, scheme=scheme).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["content-security-policy"].startswith("default-src 'none'")
    assert ("strict-transport-security" in headers) == (scheme == "https")


def test_a_header_of_the_application_stays() -> None:
    assert ask("/own").headers["content-security-policy"] == "own"


def test_a_fault_tells_nothing() -> None:
    answer = ask("/fault")
    assert answer.status == 500
    assert b"secret" not in answer.body
    assert "strict-transport-security" in answer.headers


def test_a_fault_within_an_answer_is_left_to_the_server() -> None:
    with pytest.raises(RuntimeError):
        ask("/late-fault")


def test_only_a_proxy_of_ours_says_that_tls_was_used() -> None:
    forwarded = {"x_forwarded_proto": "https"}
    assert ask("/x", scheme="http", peer="10.0.0.1", **forwarded).status == 200
    assert ask("/x", scheme="http", peer="192.0.2.1", **forwarded).status == 308
