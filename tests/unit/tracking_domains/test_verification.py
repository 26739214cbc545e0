"""Verify tracking domains against a DNS and web servers of the tests."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from chalicelib.core.settings import settings
from chalicelib.tracking_domains import store
from chalicelib.tracking_domains.routes import answer_tracking_check, verify_tracking_domain
from tests.unit.sending_domains.requests import error_of, request, results
from tests.unit.tracking_domains.examples import store_tracking_domain
from tests.unit.zones import Zone

TARGET = "track.postfinch.test"


@contextmanager
def web_server(*, is_ours: bool) -> Iterator[int]:
    """Yield the port of a server that answers challenges as this service does, or that does not."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            challenge = self.path.removeprefix("/tracking-check/")
            body = answer_tracking_check(request(), challenge).body if is_ours else b"hello"
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture(autouse=True)
def cname_in_dns(zone: Zone) -> Zone:
    store_tracking_domain(cname_status="unverified")
    zone.set("t.test", ("CNAME", TARGET))
    zone.set(TARGET, ("A", "127.0.0.1"))
    return zone


def test_a_default_that_fails_its_check_stays_the_default(cname_in_dns: Zone) -> None:
    store_tracking_domain("main.test", default=True)
    cname_in_dns.set("main.test", ("CNAME", "elsewhere.test"))
    assert verify("main.test")["cname_status"] == "invalid"
    domain = store.get("main.test")
    assert domain is not None
    assert domain.default


def verify(name: str = "t.test", *, part: int = 0) -> Any:
    return results(verify_tracking_domain(request({}, part=part), name))


def use(monkeypatch: pytest.MonkeyPatch, **values: object) -> None:
    for name, value in values.items():
        monkeypatch.setenv(name, str(value))
    settings.cache_clear()


def test_a_domain_that_leads_to_this_service_is_verified(monkeypatch: pytest.MonkeyPatch) -> None:
    with web_server(is_ours=True) as port:
        use(monkeypatch, TRACKING_PORT=port)
        assert verify() == {
            "verified": True,
            "cname_status": "valid",
            "compliance_status": "valid",
        }
    domain = store.get("t.test")
    assert domain is not None
    assert domain.is_in_service


def test_a_domain_that_leads_to_another_server_is_not_verified(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with web_server(is_ours=False) as port:
        use(monkeypatch, TRACKING_PORT=port)
        error = error_of(verify)
    assert (error["status"], error["code"]) == (400, "1404")
    assert error["message"] == "request to remote endpoint failed"
    assert f"Unable to reach http://t.test:{port}: another server" in error["description"]
    domain = store.get("t.test")
    assert domain is not None
    assert not domain.verified


def test_no_page_is_fetched_from_a_private_address_unless_that_is_allowed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with web_server(is_ours=True) as port:
        use(monkeypatch, TRACKING_PORT=port, ALLOW_PRIVATE_ADDRESSES="false")
        error = error_of(verify)
    assert error["code"] == "1404"
    assert "no public address" in error["description"]


def test_no_page_is_fetched_without_the_right_cname(zone: Zone) -> None:
    zone.set("t.test", ("CNAME", "elsewhere.test"))
    assert verify() == {
        "verified": False,
        "cname_status": "invalid",
        "compliance_status": "valid",
    }
    zone.clear("t.test")
    assert verify()["cname_status"] == "invalid"
    assert TARGET not in zone.queries


def test_a_dns_failure_leaves_a_new_domain_pending_and_a_verified_one_verified(
    zone: Zone, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, TRACKING_FETCH="none")
    zone.failing.add("t.test")
    assert verify()["cname_status"] == "pending"
    zone.failing.clear()
    assert verify()["verified"] is True
    zone.failing.add("t.test")
    assert verify()["verified"] is True


@pytest.mark.parametrize(
    ("mode", "secure_passes"), [("all", False), ("plain", True), ("none", True)]
)
def test_a_setting_says_from_which_domains_a_page_is_fetched(
    zone: Zone, monkeypatch: pytest.MonkeyPatch, mode: str, secure_passes: bool
) -> None:
    store_tracking_domain("secure.test", secure=True, cname_status="unverified")
    zone.set("secure.test", ("CNAME", TARGET))
    with web_server(is_ours=True) as port:
        use(monkeypatch, TRACKING_PORT=port, TRACKING_FETCH=mode)
        assert verify()["verified"] is True
        if secure_passes:
            assert verify("secure.test")["verified"] is True
        else:
            assert error_of(lambda: verify("secure.test"))["code"] == "1404"


def test_a_setting_names_the_cname_target(zone: Zone, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, TRACKING_TARGET="Go.{system}", SYSTEM_DOMAIN="eu.test", TRACKING_FETCH="none")
    assert verify()["verified"] is False
    zone.set("t.test", ("CNAME", "go.eu.test"))
    assert verify()["verified"] is True


def test_only_a_domain_of_the_scope_can_be_verified() -> None:
    assert error_of(lambda: verify(part=7))["status"] == 404
    assert error_of(lambda: verify("none.test"))["code"] == "1600"


def test_the_answer_depends_on_the_challenge_and_is_not_cached() -> None:
    first, second = (answer_tracking_check(request(), text) for text in ("a", "b"))
    assert first.body != second.body
    assert first.headers["Cache-Control"] == "no-store"
    assert answer_tracking_check(request(), "é" * 5000).status == 200
