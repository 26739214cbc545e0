"""Fetches from real servers on loopback."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest

from chalicelib.core import web_fetch
from chalicelib.core.settings import settings
from chalicelib.core.web_fetch import Fetched, FetchFailed
from tests.unit.zones import Zone, served_zone

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
        assert web_fetch.get(f"http://a.test:{port}/x?y=1") == Fetched(200, b"hello")
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


@pytest.mark.parametrize("address", ["127.0.0.1", "10.0.0.1", "169.254.169.254"])
def test_a_host_with_a_private_address_is_not_spoken_to(
    zone: Zone, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setenv("ALLOW_PRIVATE_ADDRESSES", "false")
    settings.cache_clear()
    zone.set("a.test", ("A", address))
    spoken: list[bytes] = []
    refused = pytest.raises(FetchFailed, match="no public address")
    with server(lambda _, head: spoken.append(head)) as port, refused:
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
            assert time.monotonic() - began < 3
        finally:
            stop.set()


def test_tls_without_a_certificate_for_the_host_is_a_failed_fetch(zone: Zone) -> None:
    zone.set("a.test", ("A", "127.0.0.1"))
    with server(reply("this is not TLS")) as port, pytest.raises(FetchFailed):
        web_fetch.get(f"https://a.test:{port}/")
