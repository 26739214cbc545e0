from __future__ import annotations

import base64
import json
import random
import re
import string
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from chalicelib.core import clock, queues
from chalicelib.core.http import PUBLIC, App
from chalicelib.core.message_event import Event
from chalicelib.core.settings import settings
from chalicelib.events import stream
from chalicelib.tracking import flood, pixels, tokens
from chalicelib.tracking.model import LIST_UNSUBSCRIBE, Link, Message
from chalicelib.tracking.routes import routes
from chalicelib.tracking.tokens import LinkPart
from tests.fake_cloud import aws_requests, queued
from tests.unit.core.gateway_events import event
from tests.unit.strict_headers import check_strict_headers
from tests.unit.tracking.examples import NINE, issuer
from tests.unit.tracking_domains.examples import store_tracking_domain

pytestmark = pytest.mark.usefixtures("cloud")

ONE_CLICK = b"List-Unsubscribe=One-Click"
PIXELS = {"open": "t/o", "initial_open": "t/i", "amp_open": "t/ao", "amp_initial_open": "t/ai"}
TARGET = "https://a.example/b?c=1&d=2#e"


def nobody(request: Any, *, subaccount_header: bool) -> Any:
    raise AssertionError("tracking asks for no key")


@pytest.fixture(scope="module")
def app() -> App:
    """An application with these routes only."""
    app = App("tracking", authenticate=nobody)
    app.register_blueprint(routes)
    return app


class Browser:
    """Makes requests to the application, and tells what they put on the queue."""

    def __init__(self, app: App) -> None:
        self._app = app

    def request(self, method: str, path: str, body: bytes = b"", **headers: str) -> dict[str, Any]:
        request_headers = {"User-Agent": "Mozilla/5.0 Firefox/128.0"} | headers
        return self._app(event(self._app, method, path, headers=request_headers, body=body), None)

    def get(self, path: str, **headers: str) -> dict[str, Any]:
        return self.request("GET", path, **headers)

    def post(self, path: str, body: bytes = ONE_CLICK, **headers: str) -> dict[str, Any]:
        return self.request("POST", path, body, **headers)

    def events(self) -> list[Event]:
        return [each for body in queued("events") for each in stream.decode(queues.read(body))]


@pytest.fixture
def browser(app: App) -> Browser:
    return Browser(app)


@pytest.fixture
def broken_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    """A queue that takes nothing."""

    def refuse(events: object) -> None:
        raise ConnectionError("no queue")

    monkeypatch.setattr(stream, "emit", refuse)


def pixel_path(kind: str) -> str:
    return f"/{kind}/{issuer().token(kind)}"


def link_path(link: Link) -> str:
    path = link.kind.replace(" ", "%20").replace("/b", "%2Fb") if link.sub else link.kind
    return f"/{path}/{issuer().token_of(LinkPart(link))}"


CLICK = Link(TARGET, "Name")
UNSUBSCRIBE_LINK = Link(TARGET, unsubscribes=True)


def body_of(reply: dict[str, Any]) -> bytes:
    return base64.b64decode(reply["body"])


@pytest.mark.parametrize(("event_type", "kind"), PIXELS.items())
def test_a_pixel_reports_its_open(browser: Browser, event_type: str, kind: str) -> None:
    reply = browser.get(pixel_path(kind))
    assert reply["statusCode"] == 200
    assert reply["headers"]["Content-Type"] == "image/gif"
    assert "no-store" in reply["headers"]["Cache-Control"]
    assert body_of(reply) == pixels.GIF
    (event,) = browser.events()
    assert event["type"] == event_type
    assert event["rcpt_to"] == "ann@example.test"
    assert event["ip_address"] == "192.0.2.1"
    assert event["user_agent"] == "Mozilla/5.0 Firefox/128.0"


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST"])
@pytest.mark.parametrize("host", ["their.test", "nobody.test:8080", "evil.example"])
def test_no_link_works_at_the_tracking_domain_of_another_account(
    browser: Browser, method: str, host: str
) -> None:
    store_tracking_domain("our.test")
    store_tracking_domain("their.test", account=2)
    paths = [pixel_path(kind) for kind in (*PIXELS.values(), LIST_UNSUBSCRIBE)]
    paths += [link_path(CLICK), link_path(Link(TARGET, sub="ios")), link_path(UNSUBSCRIBE_LINK)]
    for path in paths:
        refusal = browser.request(method, path, Host=host)
        assert refusal["statusCode"] in ((404, 405) if method == "POST" else (404,))
        assert "Location" not in refusal["headers"]
        reply = browser.request(method, path, Host="our.test")
        assert reply["statusCode"] in ((200, 303, 405) if method == "POST" else (200, 302))


def test_each_fetch_is_an_open_of_its_own(browser: Browser) -> None:
    for _ in range(3):
        browser.get(pixel_path("t/o"))
    assert len({event["event_id"] for event in browser.events()}) == 3


@pytest.mark.parametrize("sub", ["", "ios", "a/b c"])
@pytest.mark.parametrize("amp", [False, True])
def test_a_click_redirects_to_exactly_its_target(browser: Browser, sub: str, amp: bool) -> None:
    reply = browser.get(link_path(Link(TARGET, "Name", amp=amp, sub=sub)))
    assert reply["statusCode"] == 302
    assert reply["headers"]["Location"] == TARGET
    assert "no-store" in reply["headers"]["Cache-Control"]
    (event,) = browser.events()
    assert event["type"] == ("amp_click" if amp else "click")
    assert event["target_link_url"] == TARGET
    assert event["target_link_name"] == "Name"


def test_a_target_beyond_ascii_is_encoded_in_the_header_only(browser: Browser) -> None:
    reply = browser.get(link_path(Link("https://bücher.example/ü b")))
    assert reply["headers"]["Location"] == "https://xn--bcher-kva.example/%C3%BC%20b"
    assert browser.events()[0]["target_link_url"] == "https://bücher.example/ü b"


PATHS = [*PIXELS.values(), "click", "unsubscribe link", "list"]


def any_path(name: str) -> str:
    if name == "click":
        return link_path(CLICK)
    if name == "unsubscribe link":
        return link_path(UNSUBSCRIBE_LINK)
    return pixel_path("t/u" if name == "list" else name)


@pytest.mark.cost
@pytest.mark.parametrize("name", PATHS)
def test_each_answer_takes_one_request_at_most(browser: Browser, name: str) -> None:
    browser.get(pixel_path("t/o"))  # finds the queue's address
    with aws_requests() as app:
        browser.get(any_path(name))
    is_limited = name not in ("unsubscribe link", "list")
    assert [each.operation for each in app] == (["SendMessage"] if is_limited else [])


@pytest.mark.parametrize("name", PATHS)
def test_head_is_answered_like_get_and_counts_nothing(browser: Browser, name: str) -> None:
    head, got = browser.request("HEAD", any_path(name)), browser.get(any_path(name))
    queued("events")
    assert head["statusCode"] == got["statusCode"]
    assert {**head["headers"], "X-Request-ID": ""} == {**got["headers"], "X-Request-ID": ""}
    browser.request("HEAD", any_path(name))
    assert browser.events() == []


def test_a_range_request_for_the_pixel_gets_all_of_it(browser: Browser) -> None:
    reply = browser.get(pixel_path("t/o"), Range="bytes=10-20")
    assert reply["statusCode"] == 200
    assert body_of(reply) == pixels.GIF
    assert reply["headers"]["Accept-Ranges"] == "none"
    assert len(browser.events()) == 1


def altered(path: str) -> Iterator[str]:
    start, _, token = path.rpartition("/")
    yield f"{start}/{token[:-1]}{'A' if token[-1] != 'A' else 'B'}"
    yield f"{start}/{'B' if token[0] != 'B' else 'A'}{token[1:]}"
    yield f"{start}/{token}x"
    yield f"{start}/{token[:-1]}*{token[-1]}"
    yield f"{start}/x"
    yield f"{start}/%F0%9F%98%80.{token}"


@pytest.mark.parametrize("name", PATHS)
@pytest.mark.parametrize("method", ["GET", "HEAD", "POST"])
def test_an_altered_link_is_404_and_never_followed(
    browser: Browser, name: str, method: str
) -> None:
    for path in altered(any_path(name)):
        reply = browser.request(method, path)
        assert reply["statusCode"] == (405 if method == "POST" and name in PIXELS.values() else 404)
        assert "Location" not in reply["headers"]
    assert browser.events() == []


@pytest.mark.parametrize("name", PATHS)
@pytest.mark.parametrize(
    "behind", [".", "**", "_", "%22", "%E3%80%82%E8%B0%A2", "%E2%80%9D", ")", "|a"]
)
def test_signs_that_a_mail_program_takes_for_a_part_of_a_link_are_ignored(
    browser: Browser, name: str, behind: str
) -> None:
    path = any_path(name)
    replies = [browser.get(path), browser.get(path + behind)]
    assert replies[0]["statusCode"] == replies[1]["statusCode"] < 400
    assert replies[0]["headers"].get("Location") == replies[1]["headers"].get("Location")
    assert len(browser.events()) == (0 if name in ("unsubscribe link", "list") else 2)


@pytest.mark.parametrize("name", PATHS)
def test_a_link_older_than_a_year_is_404(browser: Browser, name: str) -> None:
    path = any_path(name)
    with clock.use(lambda: NINE / 1000 + 366 * 86_400):
        assert browser.get(path)["statusCode"] == 404
        assert browser.post(path)["statusCode"] in (404, 405)
    assert browser.events() == []


def test_the_token_of_a_click_does_not_open(browser: Browser) -> None:
    token = link_path(CLICK).rpartition("/")[2]
    for kind in [*PIXELS.values(), "t/u", "f/ios"]:
        assert browser.get(f"/{kind}/{token}")["statusCode"] == 404
    assert browser.get(f"/t/c/{issuer().token('t/c')}")["statusCode"] == 404
    assert browser.events() == []


@pytest.mark.usefixtures("broken_queue")
def test_a_reader_does_not_notice_that_the_queue_is_gone(
    browser: Browser, caplog: pytest.LogCaptureFixture
) -> None:
    assert browser.get(link_path(CLICK))["headers"]["Location"] == TARGET
    assert body_of(browser.get(pixel_path("t/o"))) == pixels.GIF
    assert len(caplog.records) == 2


def test_a_reader_does_not_wait_for_a_queue_that_hangs(
    browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    released, finished = threading.Event(), threading.Event()

    def hang(events: object) -> None:
        released.wait(5)
        finished.set()

    monkeypatch.setattr(stream, "emit", hang)
    monkeypatch.setenv("TRACKING_PATIENCE", "0.05")
    settings.cache_clear()
    assert browser.get(link_path(CLICK))["headers"]["Location"] == TARGET
    assert not finished.is_set()
    released.set()


@pytest.mark.usefixtures("broken_queue")
@pytest.mark.parametrize("name", ["list", "unsubscribe link"])
def test_an_unsubscription_that_could_not_be_stored_gives_503(browser: Browser, name: str) -> None:
    assert browser.post(any_path(name))["statusCode"] == 503


@pytest.mark.parametrize("name", ["list", "unsubscribe link"])
def test_a_get_shows_a_button_and_unsubscribes_nobody(browser: Browser, name: str) -> None:
    reply = browser.get(any_path(name))
    page = body_of(reply).decode()
    assert reply["statusCode"] == 200
    assert reply["headers"]["Content-Type"] == "text/html; charset=utf-8"
    may_post_to = check_strict_headers(reply)["form-action"]
    # Browsers apply it to the redirect to the sender's page, too
    assert may_post_to == {"list": "'self'"}.get(name, "'self' https: http:")
    assert '<form method="post">' in page
    assert "<button" in page
    assert "<script" not in page
    assert "Ann@example.test" in page
    assert "Location" not in reply["headers"]
    assert browser.events() == []


MULTIPART = (
    b'--b\r\nContent-Disposition: form-data; name="List-Unsubscribe"\r\n\r\nOne-Click\r\n--b--'
)


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (ONE_CLICK, "application/x-www-form-urlencoded"),
        (MULTIPART, "multipart/form-data; boundary=b"),
        (b"", ""),
        (b"{}", "application/json"),
    ],
)
def test_one_click_unsubscribes(browser: Browser, body: bytes, content_type: str) -> None:
    headers = {"Content-Type": content_type} if content_type else {}
    reply = browser.post(pixel_path("t/u"), body, **headers)
    assert reply["statusCode"] == 200
    assert not {"Location", "Set-Cookie"} & set(reply["headers"])
    (event,) = browser.events()
    assert event["type"] == "list_unsubscribe"
    assert event["rcpt_to"] == "ann@example.test"
    assert event["mailfrom"] == "Ann@example.test"


@pytest.mark.parametrize("sub", ["", "ios"])
def test_the_button_of_an_unsubscribe_link_unsubscribes_and_redirects(
    browser: Browser, sub: str
) -> None:
    reply = browser.post(link_path(Link(TARGET, "Bye", unsubscribes=True, sub=sub)))
    assert (reply["statusCode"], reply["headers"]["Location"]) == (303, TARGET)
    (event,) = browser.events()
    assert event["type"] == "link_unsubscribe"
    assert (event["target_link_url"], event["target_link_name"]) == (TARGET, "Bye")


@pytest.mark.parametrize("name", ["list", "unsubscribe link", "click"])
def test_what_recipients_see_has_strict_headers(browser: Browser, name: str) -> None:
    for reply in (
        browser.get(any_path(name)),
        browser.post(any_path(name)),
        browser.get(any_path(name) + "x"),
    ):
        check_strict_headers(reply)
    assert check_strict_headers(browser.post(any_path(name)))["form-action"] == "'none'"


def test_a_post_to_an_ordinary_link_does_nothing(browser: Browser) -> None:
    reply = browser.post(link_path(CLICK))
    assert reply["statusCode"] == 405
    assert json.loads(reply["body"])["errors"]
    assert browser.events() == []


def test_a_scanner_that_follows_every_link_unsubscribes_nobody(browser: Browser) -> None:
    for name in PATHS:
        browser.get(any_path(name))
        browser.request("HEAD", any_path(name))
    assert {event["type"] for event in browser.events()} == {*PIXELS, "click"}


def test_a_url_longer_than_any_of_ours_is_refused(browser: Browser) -> None:
    target = "".join(random.Random(1).choices(string.printable[:94], k=4050))
    too_long = link_path(Link(f"https://a.example/{target}"))
    assert len(too_long) > 4096
    reply = browser.get(too_long)
    assert (reply["statusCode"], reply["headers"].get("Location")) == (404, None)
    assert browser.events() == []


class TestFlood:
    @pytest.fixture(autouse=True)
    def _three_a_minute(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
        monkeypatch.setenv("TRACKING_VISITS_PER_MINUTE", "3")
        settings.cache_clear()
        flood.clear_cache()
        yield
        flood.clear_cache()

    def statuses(self, browser: Browser, path: str, count: int = 5) -> list[int]:
        return [browser.get(path)["statusCode"] for _ in range(count)]

    def test_a_link_that_is_followed_too_often_gives_403_for_a_minute(
        self, browser: Browser
    ) -> None:
        assert self.statuses(browser, link_path(CLICK)) == [302, 302, 302, 403, 403]
        assert len(browser.events()) == 3
        assert self.statuses(browser, link_path(Link(TARGET, "Other")), 1) == [302]
        assert self.statuses(browser, link_path(CLICK) + "**", 1) == [403]
        with clock.use(lambda: NINE / 1000 + 60):
            assert self.statuses(browser, link_path(CLICK), 1) == [302]

    def test_over_the_limit_a_pixel_is_shown_but_not_reported(self, browser: Browser) -> None:
        assert self.statuses(browser, pixel_path("t/o")) == [200] * 5
        assert len(browser.events()) == 3

    def test_unsubscribing_has_no_limit(self, browser: Browser) -> None:
        for name in ("list", "unsubscribe link"):
            assert self.statuses(browser, any_path(name)) == [200] * 5
            assert browser.post(any_path(name))["statusCode"] in (200, 303)

    def test_head_requests_do_not_count_as_visits(self, browser: Browser) -> None:
        for _ in range(5):
            browser.request("HEAD", link_path(CLICK))
        assert self.statuses(browser, link_path(CLICK), 1) == [302]

    def test_without_a_limit_nothing_is_counted(
        self, browser: Browser, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("TRACKING_VISITS_PER_MINUTE", "0")
        settings.cache_clear()
        assert self.statuses(browser, link_path(CLICK)) == [302] * 5


def test_what_a_page_shows_is_escaped(browser: Browser) -> None:
    about = Message(1, None, "0" * 24, 0, '"<script>"@x.example', tokens.last_day(NINE))
    token = tokens.MessageTokens(about).token("t/u")
    page = body_of(browser.get(f"/t/u/{token}")).decode()
    assert "<script" not in page
    assert "&lt;script&gt;" in page


def test_every_route_is_public_and_declares_head(app: App) -> None:
    declared = app.declared_routes()
    assert {route.grant for route in declared} == {PUBLIC}
    for route in declared:
        if route.method == "GET":
            assert ("HEAD", route.path) in {(each.method, each.path) for each in declared}
            assert re.fullmatch(r"/(t/[a-z]+|f/\{sub\})/\{token\}", route.path)
