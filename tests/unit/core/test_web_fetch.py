"""Fetches from real servers on loopback."""

from __future__ import annotations

import socket
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from chalicelib.core import web_fetch
from chalicelib.core.settings import settings
from chalicelib.core.web_fetch import CertificateRefused, FetchFailed, Response
from tests.http_target import Reply, serving
from tests.unit.core.certificates import Authority
from tests.unit.zones import Zone, served_zone

# Seconds that no exchange here may take; the servers go on for longer
PATIENCE = 60

Answer = Callable[[socket.socket, bytes], None]


@pytest.fixture
def zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[Zone]:
    monkeypatch.setenv("ALLOW_PRIVATE_ADDRESSES", "true")
    yield from served_zone(monkeypatch)


@contextmanager
def server(answer: Answer) -> Iterator[int]:
    """Serve one connection after another with ``answer``, which gets the request's head."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection, suppress(OSError):
                answer(connection, connection.recv(65536))

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()


def reply(text: str) -> Answer:
    return lambda connection, _: connection.sendall(text.encode())


def test_a_page_is_fetched_from_the_address_of_its_host(zone: Zone) -> None:
    heads: list[bytes] = []

    def answer(connection: socket.socket, head: bytes) -> None:
        heads.append(head)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")

    zone.set("a.test", ("A", "127.0.0.1"))
    with server(answer) as port:
        assert web_fetch.get(f"http://a.test:{port}/x?y=1") == Response(200, b"hello")
        lines = heads[0].decode().split("\r\n")
        assert lines[0] == "GET /x?y=1 HTTP/1.1"
        assert f"Host: a.test:{port}" in lines


def test_a_redirect_is_not_followed(zone: Zone) -> None:
    zone.set("a.test", ("A", "127.0.0.1"))
    with server(reply("HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/\r\n\r\n")) as port:
        assert web_fetch.get(f"http://a.test:{port}/").status == 302


def test_only_the_beginning_of_a_large_page_is_read(zone: Zone) -> None:
    zone.set("a.test", ("A", "127.0.0.1"))
    with server(reply("HTTP/1.0 200 OK\r\n\r\n" + "x" * 1_000_000)) as port:
        assert len(web_fetch.get(f"http://a.test:{port}/").body) == web_fetch.MOST_BYTES


@pytest.mark.parametrize(
    ("text", "is_whole"),
    [
        ("HTTP/1.0 200 OK\r\n\r\nabc", True),
        ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", True),
        ("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", False),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", True),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", False),
        ("HTTP/1.0 200 OK\r\n\r\n" + "x" * web_fetch.MOST_BYTES, False),
    ],
)
def test_a_body_that_is_not_all_there_is_known(zone: Zone, text: str, *, is_whole: bool) -> None:
    zone.set("a.test", ("A", "127.0.0.1"))
    with server(reply(text)) as port:
        response = web_fetch.get(f"http://a.test:{port}/")
    assert response.body[:3] in (b"abc", b"xxx")
    assert response.is_whole is is_whole


def test_a_body_that_takes_too_long_is_not_all_there(zone: Zone) -> None:
    def answer(connection: socket.socket, _: bytes) -> None:
        connection.sendall(b"HTTP/1.0 200 OK\r\n\r\nabc")
        connection.recv(1)

    zone.set("a.test", ("A", "127.0.0.1"))
    with server(answer) as port:
        response = web_fetch.get(f"http://a.test:{port}/", timeout=0.3)
    assert (response.body, response.is_whole) == (b"abc", False)


@pytest.mark.parametrize("address", ["127.0.0.1", "10.0.0.1", "169.254.169.254"])
def test_no_connection_goes_to_a_host_with_a_private_address(
    zone: Zone, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setenv("ALLOW_PRIVATE_ADDRESSES", "false")
    settings.cache_clear()
    zone.set("a.test", ("A", address))
    spoken: list[bytes] = []
    refusal = pytest.raises(FetchFailed, match="no public address")
    with server(lambda _, head: spoken.append(head)) as port, refusal:
        web_fetch.get(f"http://a.test:{port}/")
    assert spoken == []


def test_a_host_without_an_address_or_an_answer_is_not_fetched(zone: Zone) -> None:
    with pytest.raises(FetchFailed, match="no address"):
        web_fetch.get("http://a.test/")
    zone.failing.add("b.test")
    with pytest.raises(FetchFailed, match="no answer"):
        web_fetch.get("http://b.test/")


def test_a_second_address_is_tried_when_the_first_does_not_answer(zone: Zone) -> None:
    zone.set("a.test", ("A", "127.0.0.1"), ("AAAA", "::1"))
    with server(reply("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")) as port:
        zone.set("a.test", ("A", "127.0.0.2"), ("A", "127.0.0.1"))
        assert web_fetch.get(f"http://a.test:{port}/").status == 200


@pytest.mark.parametrize("text", ["", "no HTTP\r\n\r\n"])
def test_a_server_that_breaks_the_protocol_is_a_failed_fetch(zone: Zone, text: str) -> None:
    zone.set("a.test", ("A", "127.0.0.1"))
    with server(reply(text)) as port, pytest.raises(FetchFailed):
        web_fetch.get(f"http://a.test:{port}/")


def test_a_server_that_drips_is_cut_off(zone: Zone) -> None:
    stop = threading.Event()

    def drip(connection: socket.socket, head: bytes) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\n")
        while not stop.wait(0.05):
            connection.sendall(b"X-Drip: x\r\n")

    zone.set("a.test", ("A", "127.0.0.1"))
    began = time.monotonic()
    with server(drip) as port:
        try:
            with pytest.raises(FetchFailed):
                web_fetch.get(f"http://a.test:{port}/", timeout=0.4)
            assert time.monotonic() - began < PATIENCE
        finally:
            stop.set()


def test_several_exchanges_can_have_one_time_limit(zone: Zone) -> None:
    stop = threading.Event()
    zone.set("a.test", ("A", "127.0.0.1"))
    began = time.monotonic()
    with server(lambda connection, head: bool(stop.wait(2 * PATIENCE)) and None) as port:
        url = f"http://a.test:{port}/"
        try:
            with web_fetch.within(0.3):
                with pytest.raises(FetchFailed, match=r"took longer than 0\.[23]\d* s"):
                    web_fetch.get(url, timeout=PATIENCE)
                with pytest.raises(FetchFailed, match="no time"), web_fetch.within(60):
                    web_fetch.get(url, timeout=PATIENCE)
            assert time.monotonic() - began < PATIENCE
            with pytest.raises(FetchFailed, match=r"took longer than 0\.4 s"):
                web_fetch.get(url, timeout=0.4)
        finally:
            stop.set()


def test_a_look_up_takes_no_longer_than_the_exchange_may(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.1", 0))
        monkeypatch.setenv("DNS_SERVERS", f"127.0.0.1:{silent.getsockname()[1]}")
        settings.cache_clear()
        began = time.monotonic()
        with pytest.raises(FetchFailed):
            web_fetch.get("http://a.test/", timeout=0.3)
        assert time.monotonic() - began < PATIENCE
    settings.cache_clear()


def test_a_connection_that_is_made_at_the_last_moment_is_cut_off(
    zone: Zone, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect, stop = socket.create_connection, threading.Event()

    def connect_late(*arguments: object) -> socket.socket:
        connection = connect(*arguments)  # type: ignore[arg-type]
        stop.wait(0.4)
        return connection

    def say_nothing(connection: socket.socket, head: bytes) -> None:
        stop.wait(2 * PATIENCE)

    monkeypatch.setattr(socket, "create_connection", connect_late)
    began = time.monotonic()
    with server(say_nothing) as port:
        try:
            with pytest.raises(FetchFailed) as failure:
                web_fetch.get(f"http://127.0.0.1:{port}/", timeout=0.2)
        finally:
            stop.set()
    assert failure.value.code == "ETIMEDOUT"
    assert time.monotonic() - began < PATIENCE


def test_tls_without_a_certificate_for_the_host_is_a_failed_fetch(zone: Zone) -> None:
    zone.set("a.test", ("A", "127.0.0.1"))
    with server(reply("this is not TLS")) as port, pytest.raises(FetchFailed):
        web_fetch.get(f"https://a.test:{port}/")


def test_a_post_has_its_body_and_headers(zone: Zone) -> None:
    with serving() as target:
        target.answer = lambda _: Reply(202, b"thanks", {"X-Kind": "hook"})
        response = web_fetch.post(target.url, b"body", {"X-A": "b", "Content-Type": "text/plain"})
    assert (response.status, response.body, response.headers["x-kind"]) == (202, b"thanks", "hook")
    (post,) = target.posts
    assert (post.body, post.headers["x-a"]) == (b"body", "b")
    assert post.headers["host"] == f"127.0.0.1:{target.port}"


def test_nothing_is_posted_a_second_time_when_the_first_host_hangs_up(zone: Zone) -> None:
    heads: list[bytes] = []
    zone.set("a.test", ("A", "127.0.0.1"), ("A", "127.0.0.1"))
    failing = pytest.raises(FetchFailed)
    with server(lambda _, head: heads.append(head)) as port, failing:
        web_fetch.post(f"http://a.test:{port}/", b"body")
    assert len(heads) == 1


@pytest.mark.parametrize(
    "header", ["Content-Length: 5", "Connection: close", "Transfer-Encoding: chunked\r\n\r\n5"]
)
def test_a_response_whose_body_never_ends_is_returned_with_its_status(
    zone: Zone, header: str
) -> None:
    stop = threading.Event()

    def hang(connection: socket.socket, head: bytes) -> None:
        connection.sendall(f"HTTP/1.1 200 OK\r\n{header}\r\n".encode())
        connection.sendall(b"he" if "chunked" in header else b"\r\nhe")
        stop.wait(2 * PATIENCE)

    began = time.monotonic()
    with server(hang) as port:
        try:
            response = web_fetch.post(f"http://127.0.0.1:{port}/", b"body", timeout=0.3)
            assert time.monotonic() - began < PATIENCE
        finally:
            stop.set()
    assert response == Response(200, b"he")


@pytest.mark.parametrize("size", [b"-1", b"-5", b"ffffffffff"])
def test_no_more_of_a_chunk_is_kept_than_the_limit(zone: Zone, size: bytes) -> None:
    def flood(connection: socket.socket, head: bytes) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%b\r\n" % size)
        connection.sendall(b"x" * 20_000_000)

    tracemalloc.start()
    try:
        with server(flood) as port:
            before, _ = tracemalloc.get_traced_memory()
            response = web_fetch.post(f"http://127.0.0.1:{port}/", b"body")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert response == Response(200, b"x" * web_fetch.MOST_BYTES)
    assert peak - before < 30_000_000  # of which 20 are the server's


def test_the_name_is_looked_up_once_and_only_that_answer_is_used(zone: Zone) -> None:
    zone.set("a.test", ("A", "127.0.0.1"))
    lookups: list[str] = []
    real = zone.lookup

    def rebind(name: str) -> object:
        answer = real(name)
        if len(zone.queries) >= 2:  # A and AAAA: from now on it leads elsewhere
            zone.set("a.test", ("A", "127.0.0.2"))
        return answer

    zone.lookup = rebind  # type: ignore[method-assign,assignment]
    try:
        with server(reply("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")) as port:
            assert web_fetch.get(f"http://a.test:{port}/").status == 200
            lookups += zone.queries
            with pytest.raises(FetchFailed):
                web_fetch.get(f"http://a.test:{port}/")
    finally:
        del zone.lookup  # type: ignore[method-assign]
    assert lookups == ["a.test", "a.test"]


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("http://2130706433/", "EINVAL"),
        ("http://nobody.test/", "ENOTFOUND"),
        ("http://127.0.0.1:1/", "ECONNREFUSED"),
    ],
)
def test_a_failure_has_a_code(zone: Zone, url: str, code: str) -> None:
    with pytest.raises(FetchFailed) as failure:
        web_fetch.get(url)
    assert failure.value.code == code


def test_a_time_out_and_a_broken_protocol_have_codes(zone: Zone) -> None:
    with serving() as target:
        target.answer = lambda _: Reply(never_sent=True)
        with pytest.raises(FetchFailed) as failure:
            web_fetch.post(target.url, b"", timeout=0.1)
    assert failure.value.code == "ETIMEDOUT"
    with server(reply("no HTTP\r\n\r\n")) as port, pytest.raises(FetchFailed) as failure:
        web_fetch.get(f"http://127.0.0.1:{port}/")
    assert failure.value.code == "EPROTO"


def test_a_header_cannot_end_another_one(zone: Zone) -> None:
    with serving() as target, pytest.raises(ValueError, match="header"):
        web_fetch.post(target.url, b"", {"X-A": "b\r\nX-C: d"})
    assert target.posts == []


def test_tls_is_for_the_name_although_the_address_is_connected_to(
    zone: Zone, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    authority = Authority(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.certificate))
    web_fetch.clear_cache()
    zone.set("a.test", ("A", "127.0.0.1"))
    zone.set("b.test", ("A", "127.0.0.1"))
    asked_for: list[str | None] = []
    context = authority.server("a.test")
    context.sni_callback = lambda _, name, __: asked_for.append(name)
    try:
        with serving(context) as target:
            response = web_fetch.post(f"https://a.test:{target.port}/", b"body")
            with pytest.raises(CertificateRefused) as failure:
                web_fetch.post(f"https://b.test:{target.port}/", b"body")
            with pytest.raises(CertificateRefused):
                web_fetch.post(f"https://127.0.0.1:{target.port}/", b"body")
    finally:
        web_fetch.clear_cache()
    assert response.status == 200
    assert asked_for[:2] == ["a.test", "b.test"]
    assert failure.value.code == "EPROTO"
    assert len(target.posts) == 1


def test_the_common_name_of_a_certificate_does_not_count(
    zone: Zone, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    authority = Authority(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.certificate))
    web_fetch.clear_cache()
    zone.set("a.test", ("A", "127.0.0.1"))
    try:
        with (
            serving(authority.server("a.test", has_alternative_name=False)) as target,
            pytest.raises(CertificateRefused),
        ):
            web_fetch.get(f"https://a.test:{target.port}/")
    finally:
        web_fetch.clear_cache()
