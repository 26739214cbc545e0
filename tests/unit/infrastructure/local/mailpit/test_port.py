"""The port is for this machine only; what is not Mailpit's is answered by the service."""

from __future__ import annotations

import asyncio
import re
import time
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from app import app
from chalicelib.core.settings import settings
from infrastructure.local.gateway.mailbox_companions import mailpit_endpoint
from infrastructure.local.mailbox.trace import Trace
from infrastructure.local.mailpit.choices import MailpitChoices
from infrastructure.local.mailpit.run_figures import STARTED_AT
from infrastructure.local.messages.details import Detailer
from infrastructure.local.this_machine import NOBODY_ELSE, LocalAccess
from tests.unit.infrastructure.local.mailpit.mailpit_client import MailpitClient, own_service
from tests.unit.infrastructure.local.mailpit.published_fields import INFO, WEBUI, faults

MESSAGES = "/api/v1/messages"


@pytest.fixture
def client(tmp_path: Path) -> MailpitClient:
    return MailpitClient(tmp_path)


def test_the_service_says_what_it_is(client: MailpitClient) -> None:
    client.add()
    client.ask("DELETE", MESSAGES)
    client.add("one")
    info = client.get("/api/v1/info")
    assert faults(info, INFO) == []
    assert (info["Messages"], info["Unread"], info["RuntimeStats"]["MessagesDeleted"]) == (1, 1, 1)
    assert info["RuntimeStats"]["SMTPAccepted"] == 2
    assert info["DatabaseSize"] > 4096
    assert re.fullmatch(r"v1\.\d+\.\d+", info["Version"])
    assert faults(client.get("/api/v1/webui"), WEBUI) == []
    for path in ("/livez", "/readyz"):
        response = client.ask("GET", path)
        assert (response.status, response.body) == (200, b"")


def test_figures_count_from_the_start_of_the_service(tmp_path: Path) -> None:
    client = MailpitClient(tmp_path)
    client.add("before the second start")
    environ = {"DATA_DIR": str(tmp_path), STARTED_AT: str(time.time() - 60)}
    later = {**environ, STARTED_AT: str(time.time())}
    client.add("before the gateways run")
    detailer = Detailer(client.mailbox, lambda references: {})
    endpoints = [
        mailpit_endpoint(each, settings(), detailer, own_service, NOBODY_ELSE)
        for each in (environ, later)
    ]
    last = client.add("before the first request")
    client.mailbox.delete(last)
    client.add("after it")
    for endpoint, accepted, seconds in zip(endpoints, (4, 3), (60, 0), strict=True):
        client.service = endpoint._built()
        figures = client.get("/api/v1/info")["RuntimeStats"]
        assert (figures["SMTPAccepted"], figures["MessagesDeleted"]) == (accepted, 1)
        assert seconds <= figures["Uptime"] < seconds + 60
        assert figures["SMTPAcceptedSize"] > 0


def test_figures_of_an_empty_mailbox_are_zero(client: MailpitClient) -> None:
    client.mailbox.delete(client.add())
    client = MailpitClient(client.root)
    figures = client.get("/api/v1/info")["RuntimeStats"]
    names = ("SMTPAccepted", "SMTPAcceptedSize", "MessagesDeleted")
    assert [figures[name] for name in names] == [0, 0, 0]


def test_figures_are_told_to_prometheus_under_mailpits_names(tmp_path: Path) -> None:
    client = MailpitClient(tmp_path, {"MAILPIT_METRICS": "true"})
    message_id = client.add()
    client.add(trace=Trace("", ("a@b.test",), tags=('a "b"',)))
    client.add()
    client.ask("DELETE", MESSAGES, {"IDs": [message_id]})
    response = client.ask("GET", "/metrics")
    assert response.headers["content-type"].startswith("text/plain; version=")
    families = {each.name: each for each in text_string_to_metric_families(response.body.decode())}
    values = {sample.name: sample.value for each in families.values() for sample in each.samples}
    assert values["mailpit_messages"] == values["mailpit_messages_unread"] == 2
    assert values["mailpit_messages_deleted_total"] == 1
    assert values["mailpit_smtp_accepted_total"] == 3
    assert {"mailpit_smtp_rejected_total", "mailpit_smtp_ignored_total"} <= values.keys()
    for name in (
        *("mailpit_database_size_bytes", "mailpit_memory_usage_bytes", "mailpit_uptime_seconds"),
        "mailpit_smtp_accepted_size_bytes_total",
    ):
        assert values[name] >= 0
    (tag,) = families["mailpit_tag_messages"].samples
    assert (tag.labels, tag.value) == ({"tag": 'a "b"'}, 1)


def test_figures_are_for_who_asks_for_them(client: MailpitClient) -> None:
    assert client.ask("GET", "/metrics").status == 299


def test_the_label_and_the_relay_are_told(tmp_path: Path) -> None:
    environ = {
        "MAILPIT_LABEL": "shop  tests",
        "RELEASE_HOST": "smtp://user:secret@mail.test:25",  # pragma: allowlist secret
        "RELEASE_RECIPIENTS": "*@shop.test",
    }
    webui = MailpitClient(tmp_path, environ).get("/api/v1/webui")
    assert webui["Label"] == "shop tests"
    assert webui["MessageRelay"]["Enabled"] is True
    assert webui["MessageRelay"]["AllowedRecipients"] == "*@shop.test"
    assert "secret" not in str(webui)


@pytest.mark.parametrize("path", ["/console/", "/local/mailbox", "/api/v1/account"])
def test_what_mailpit_lacks_is_answered_by_the_service(client: MailpitClient, path: str) -> None:
    response = client.ask("GET", path)
    assert (response.status, response.body) == (299, path.encode())


def test_no_path_of_mailpit_is_one_of_this_service(client: MailpitClient) -> None:
    router = client.service.port._router
    paths = [re.sub(r"\{\w+\}", "x", route.path) for route in router.routes]
    assert len(paths) > 25
    assert [path for path in paths if app.route_table.match(path)] == []


@pytest.mark.parametrize(
    ("method", "status", "allow"),
    [("PATCH", 405, "DELETE, GET, OPTIONS, PUT"), ("OPTIONS", 200, "DELETE, GET, OPTIONS, PUT")],
)
def test_another_method_is_refused(
    client: MailpitClient, method: str, status: int, allow: str
) -> None:
    response = client.ask(method, MESSAGES)
    assert (response.status, response.headers["allow"]) == (status, allow)


def test_the_answer_to_head_has_no_body(client: MailpitClient) -> None:
    response = client.ask("HEAD", MESSAGES)
    assert (response.status, response.body) == (200, b"")
    assert int(response.headers["content-length"]) > 10


@pytest.mark.parametrize(
    ("headers", "host", "peer"),
    [
        ([], b"evil.test", "127.0.0.1"),
        ([], b"localhost", "192.0.2.1"),
        ([(b"origin", b"http://evil.test")], b"localhost", "127.0.0.1"),
        ([(b"origin", b"http://localhost:1")], b"localhost:8025", "127.0.0.1"),
        ([(b"sec-fetch-site", b"cross-site")], b"localhost", "127.0.0.1"),
    ],
)
def test_other_machines_and_pages_of_others_are_refused(
    client: MailpitClient, headers: list[tuple[bytes, bytes]], host: bytes, peer: str
) -> None:
    client.add()
    for method, path in (("DELETE", MESSAGES), ("GET", MESSAGES), ("GET", "/local/mailbox")):
        response = client.ask(method, path, headers=headers, host=host, peer=peer)
        assert response.status == 403
        assert response.body.startswith(b"this port is for this machine only: ")
        assert "access-control-allow-origin" not in response.headers
    assert client.get(MESSAGES)["total"] == 1


def test_a_link_of_another_page_leads_to_the_mailbox(client: MailpitClient) -> None:
    other = [(b"sec-fetch-site", b"cross-site")]
    assert client.ask("GET", "/", headers=other).status == 302
    assert client.ask("GET", "/", headers=other, host=b"evil.test").status == 403


@pytest.mark.parametrize("site", [b"cross-site", b"same-site"])
@pytest.mark.parametrize(
    ("mode", "destination", "more"),
    [
        (b"no-cors", b"image", []),
        (b"navigate", b"iframe", []),
        (b"navigate", b"document", [(b"sec-purpose", b"prefetch")]),
        (b"", b"", []),
    ],
)
def test_a_page_of_another_site_marks_no_message_as_read(
    client: MailpitClient, site: bytes, mode: bytes, destination: bytes, more: list[Any]
) -> None:
    message_id = client.add()
    headers = [
        (b"sec-fetch-site", site),
        (b"sec-fetch-mode", mode),
        (b"sec-fetch-dest", destination),
        *more,
    ]
    for name in (message_id, "latest"):
        for path in (f"/view/{name}.html", f"/view/{name}.txt", f"/api/v1/message/{name}"):
            for method in ("GET", "HEAD"):
                assert client.ask(method, path, headers=headers).status == 403
    assert client.ask("GET", "//view/latest.txt", headers=headers).status == 403
    assert client.get(MESSAGES)["unread"] == 1


def test_a_link_of_another_page_leads_to_a_message(client: MailpitClient) -> None:
    client.add()
    headers = [
        (b"sec-fetch-site", b"cross-site"),
        (b"sec-fetch-mode", b"navigate"),
        (b"sec-fetch-dest", b"document"),
    ]
    assert client.ask("GET", "/view/latest.txt", headers=headers).status == 200
    assert client.get(MESSAGES)["unread"] == 0
    assert client.ask("GET", "/api/v1/message/latest", headers=headers).status == 403


def test_own_pages_and_peers_of_the_setting_are_admitted(tmp_path: Path) -> None:
    access = LocalAccess.read({"LOCAL_PEERS": "192.0.2.0/24", "LOCAL_NAMES": "mailpit"})
    client = MailpitClient(tmp_path, access=access)
    own = [(b"origin", b"http://mailpit:8025"), (b"sec-fetch-site", b"same-origin")]
    response = client.ask("GET", MESSAGES, headers=own, host=b"mailpit:8025", peer="192.0.2.1")
    assert response.status == 200


@pytest.mark.parametrize(
    ("origins", "origin", "status"),
    [
        ("app.test,other.test:81", b"http://app.test", 200),
        ("app.test, other.test:81", b"https://other.test:81", 200),
        ("app.test", b"http://app.test:81", 403),
        ("*", b"http://any.test", 200),
        ("", b"null", 403),
    ],
)
def test_pages_of_other_origins_may_be_admitted(
    tmp_path: Path, origins: str, origin: bytes, status: int
) -> None:
    client = MailpitClient(tmp_path, {"MAILPIT_ORIGINS": origins})
    headers = [(b"origin", origin), (b"sec-fetch-site", b"cross-site")]
    for method in ("GET", "OPTIONS"):
        response = client.ask(method, MESSAGES, headers=headers)
        assert response.status == status
        is_allowed = response.headers.get("access-control-allow-origin") == origin.decode()
        assert is_allowed == (status == 200)


def test_everything_is_below_the_root(tmp_path: Path) -> None:
    client = MailpitClient(tmp_path, {"MAILPIT_ROOT": "mail/pit/"})
    assert client.get("/mail/pit/api/v1/messages")["total"] == 0
    assert client.ask("GET", "/mail/pit/console/").body == b"/console/"
    response = client.ask("GET", "/mail/pit")
    assert (response.status, response.headers["location"]) == (302, "/mail/pit/")
    for path in ("/", "/api/v1/messages", "/mail/pitx/livez"):
        assert client.ask("GET", path).status == 404


@pytest.mark.parametrize(
    ("target", "location"),
    [
        ("/", "console/#/mailbox"),
        ("/search?q=from%3Aann+x", "console/#/mailbox?q=from%3Aann%20x"),
        ("/view/an.id", "../console/#/mailbox/an.id"),
        ("/view/latest", "../console/#/mailbox"),
    ],
)
def test_addresses_of_mailpit_lead_to_the_console(
    client: MailpitClient, target: str, location: str
) -> None:
    response = client.ask("GET", target)
    assert (response.status, response.headers["location"]) == (302, location)
    assert "set-cookie" not in response.headers


@pytest.mark.parametrize(
    "environ",
    [
        {"MAILPIT_ROOT": "/a b"},
        {"MAILPIT_ROOT": "/../x"},
        {"MAILPIT_ORIGINS": "*.app.test"},
        {"MAILPIT_ORIGINS": "http://"},
        {"MAILPIT_METRICS": "yes"},
    ],
)
def test_choices_that_cannot_work_are_refused(environ: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=min(environ)):
        MailpitChoices.read(environ)


def test_another_websocket_is_closed(client: MailpitClient) -> None:
    async def ask(path: str, *headers: tuple[bytes, bytes]) -> list[Any]:
        messages: list[Any] = []

        async def receive() -> Any:
            return {"type": "websocket.disconnect"}

        async def send(message: Any) -> None:
            messages.append(message)

        scope = {
            "type": "websocket",
            "path": path,
            "raw_path": path.encode(),
            "headers": [(b"host", b"localhost"), *headers],
            "client": ("127.0.0.1", 1),
        }
        await client.service.port(scope, receive, send)
        return messages

    refusal = [{"type": "websocket.close", "code": 1008}]
    assert asyncio.run(ask("/api/other")) == refusal
    assert asyncio.run(ask("/api/events", (b"origin", b"http://evil.test"))) == refusal
