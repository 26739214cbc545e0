"""Links are requested with care: none of the service's, none of private addresses, none twice."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from infrastructure.local.messages import link_check, web_probe
from infrastructure.local.messages.link_check import LinkChecker, LinkStatus, web_links
from infrastructure.local.messages.parts import StoredMessage
from tests.unit.infrastructure.local.messages.test_links import ONE_CLICK, PIXEL, SHOP


class Site:
    """A web server with a page for each status: ``/404``; ``/to/URL`` redirects."""

    def __init__(self) -> None:
        self.requests: list[str] = []
        requests = self.requests

        class Handler(BaseHTTPRequestHandler):
            def do_HEAD(self) -> None:
                self._answer(is_head=True)

            def do_GET(self) -> None:
                self._answer(is_head=False)

            def _answer(self, *, is_head: bool) -> None:
                requests.append(f"{self.command} {self.path}")
                words = self.path.strip("/").split("/", 1)
                if words[0] == "to":
                    self.send_response(302)
                    self.send_header("Location", words[1])
                elif words[0] == "get-only":
                    self.send_response(405 if is_head else 200)
                elif words[0] == "endless":
                    count = int(words[1])
                    self.send_response(301)
                    self.send_header("Location", f"/endless/{count + 1}")
                else:
                    self.send_response(int(words[0]))
                self.end_headers()

            def log_message(self, *arguments: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,))


@pytest.fixture
def site() -> Iterator[Site]:
    site = Site()
    site.thread.start()
    yield site
    site.server.shutdown()
    site.server.server_close()
    site.thread.join()


def message(html: str = "", text: str = "", head: str = "") -> StoredMessage:
    if html:
        return StoredMessage(f"{head}Content-Type: text/html\r\n\r\n{html}".encode())
    return StoredMessage(f"{head}Content-Type: text/plain\r\n\r\n{text}".encode())


def check(site: Site, *paths: str, follow: bool = False) -> list[tuple[int, str]]:
    text = "\n".join(f"{site.url}{path}" for path in paths)
    links = LinkChecker(private=True).check(message(text=text), follow=follow)
    return [(each.status_code, each.status) for each in links]


def test_each_link_is_listed_once_in_the_order_of_the_message() -> None:
    html = (
        '<link rel="stylesheet" href="https://a.test/s.css"><a href="https://a.test/1">1</a>'
        '<img src="https://a.test/i.png"><a href="HTTPS://A.TEST/2">2</a><a href="#x">x</a>'
        '<a href="https://a.test/1">again</a><a href="mailto:a@a.test">m</a><img src="cid:x">'
        '<a href="https://a.test/?a=1&amp;b=2">3</a><link rel="icon" href="https://a.test/icon">'
    )
    assert web_links(message(html)) == [
        "https://a.test/1",
        "HTTPS://A.TEST/2",
        "https://a.test/?a=1&b=2",
        "https://a.test/s.css",
        "https://a.test/i.png",
    ]
    text = "See https://a.test/1, <https://a.test/2> and www.a.test. https://a.test/1"
    assert web_links(message(text=text))[:2] == ["https://a.test/1", "https://a.test/2"]


def test_there_is_a_most_of_links() -> None:
    html = "".join(f'<a href="https://a.test/{number}">x</a>' for number in range(1000))
    assert len(web_links(message(html))) == link_check.MOST_LINKS


def test_a_link_is_asked_by_head(site: Site) -> None:
    assert check(site, "/200", "/204", "/410") == [
        (200, "OK"),
        (204, "No Content"),
        (410, "Gone"),
    ]
    assert sorted(site.requests) == ["HEAD /200", "HEAD /204", "HEAD /410"]


def test_get_is_tried_where_head_is_refused(site: Site) -> None:
    assert check(site, "/get-only") == [(200, "OK")]
    assert site.requests == ["HEAD /get-only", "GET /get-only"]


def test_redirects_are_followed_only_when_that_is_wanted(site: Site) -> None:
    assert check(site, "/to//200") == [(302, "Found")]
    assert check(site, "/to//404", follow=True) == [(404, "Not Found")]


def test_at_most_five_redirects_are_followed(site: Site) -> None:
    assert check(site, "/endless/1", follow=True) == [(0, "too many redirects")]
    assert len(site.requests) == 6


def test_a_private_address_is_refused_unless_it_is_allowed(site: Site) -> None:
    (link,) = LinkChecker().check(message(text=f"{site.url}/200"))
    assert (link.status_code, link.status) == (451, "Blocked private/reserved address")
    assert link.is_error
    assert site.requests == []


@pytest.mark.parametrize(
    "host", ["10.1.2.3", "169.254.169.254", "[::1]", "[fe80::1]", "localhost", "[::ffff:10.0.0.1]",
             "0.0.0.0", "100.64.1.1"],
)  # fmt: skip
def test_private_hosts_of_every_kind_are_refused(host: str) -> None:
    with pytest.raises(web_probe.PrivateAddress):
        web_probe.probe("HEAD", f"http://{host}/", time.monotonic() + 60)


def test_a_redirect_to_a_private_address_is_refused() -> None:
    def probe(method: str, url: str, until: float) -> tuple[int, str]:
        if url == "https://a.test/":
            return 302, "http://169.254.169.254/secret"
        return web_probe.probe(method, url, until)

    (link,) = LinkChecker(probe=probe).check(message(text="https://a.test/"), follow=True)
    assert link.status_code == 451


def test_the_connection_goes_to_the_address_that_was_checked(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = site.server.server_port
    addresses = iter(["127.0.0.1", "203.0.113.9"])
    look_up = socket.getaddrinfo

    def getaddrinfo(host: str, *arguments: Any, **options: Any) -> list[Any]:
        return look_up(next(addresses) if host == "a.test" else host, *arguments, **options)

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    until = time.monotonic() + 60
    assert web_probe.probe("HEAD", f"http://a.test:{port}/200", until, private=True)[0] == 200
    assert next(addresses) == "203.0.113.9", "a second look-up could lead elsewhere"


def test_what_gives_no_response_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    def getaddrinfo(*arguments: Any, **options: Any) -> list[Any]:
        raise socket.gaierror

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    html = '<a href="https://nowhere.test/">x</a><a href="http://user@a.test/">y</a>'
    links = LinkChecker().check(message(html))
    assert [(each.status_code, each.is_error) for each in links] == [(0, True), (0, True)]
    assert links[0].status == "no such host"
    assert links[1].status.startswith("invalid URL")


def test_a_closed_port_is_an_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(web_probe.ProbeFailed, match="refused"):
        web_probe.probe("HEAD", f"http://127.0.0.1:{port}/", time.monotonic() + 60, private=True)


def test_a_slow_server_is_cut_off() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}/"
        began = time.monotonic()
        with pytest.raises(web_probe.ProbeFailed, match="too long"):
            web_probe.probe("HEAD", url, began + 0.2, private=True)
        assert time.monotonic() - began < 30


def test_links_of_the_service_are_not_followed_as_clicks() -> None:
    urls: list[str] = []

    def probe(method: str, url: str, until: float) -> tuple[int, str]:
        urls.append(url)
        return 404, ""

    html = f'<a href="{SHOP}">x</a><img src="{PIXEL}"><a href="{ONE_CLICK}">y</a>'
    links = LinkChecker(probe=probe).check(message(html), follow=True)
    shop = "https://example.com/shop?a=1"
    assert links == [
        LinkStatus(SHOP, 404, "Not Found (of what the link leads to)", shop),
        LinkStatus(ONE_CLICK, 200, "OK (of this service, and not followed)"),
        LinkStatus(PIXEL, 200, "OK (of this service, and not followed)"),
    ]
    assert set(urls) == {shop}


def test_a_redirect_to_a_link_of_the_service_is_not_followed_either() -> None:
    urls: list[str] = []

    def probe(method: str, url: str, until: float) -> tuple[int, str]:
        urls.append(url)
        return (302, SHOP) if url == "https://short.test/" else (200, "")

    (link,) = LinkChecker(probe=probe).check(message(text="https://short.test/"), follow=True)
    assert link.status_code == 200
    assert urls == ["https://short.test/", "https://example.com/shop?a=1"]


def test_there_is_one_time_for_all_links(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link_check, "SECONDS", 0.2)
    urls: list[str] = []

    def probe(method: str, url: str, until: float) -> tuple[int, str]:
        urls.append(url)
        threading.Event().wait(max(until - time.monotonic(), 0))
        return 200, ""

    html = "".join(f'<a href="https://a.test/{number}">x</a>' for number in range(50))
    links = LinkChecker(probe=probe).check(message(html))
    assert len(links) == 50
    assert links[-1] == LinkStatus(
        "https://a.test/49", 0, "not requested: the time for all links was over"
    )
    assert len(urls) < 50
