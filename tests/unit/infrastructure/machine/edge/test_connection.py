from __future__ import annotations

import asyncio
from typing import Any

import pytest

from infrastructure.machine.edge import connection
from infrastructure.machine.edge.connection import (
    BODY_SECONDS,
    HEAD_SECONDS,
    MOST_HEAD_BYTES,
    MOST_OF_ADDRESS,
    REQUEST_SECONDS,
    OpenConnections,
    PublicProtocol,
)
from tests.unit.infrastructure.machine.edge.connections import (
    HOST,
    FakeTransport,
    SetLoop,
    connect,
)

GET = b"GET /a HTTP/1.1\r\n" + HOST + b"\r\n"
POST = b"POST /a HTTP/1.1\r\n" + HOST + b"Content-Length: 1000000\r\n\r\n"
CHUNKED = b"POST /a HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n"
_ALMOST = MOST_HEAD_BYTES - 500


def test_a_client_that_says_nothing_is_cut_off(loop: SetLoop) -> None:
    transport = FakeTransport()
    connect(loop, transport)
    loop.advance(HEAD_SECONDS - 1)
    assert not transport.is_aborted
    loop.advance(1)
    assert transport.is_aborted


def test_a_head_that_comes_octet_by_octet_has_no_more_time(loop: SetLoop) -> None:
    transport = FakeTransport()
    protocol = connect(loop, transport)
    for octet in GET[: int(HEAD_SECONDS) - 1]:
        protocol.data_received(bytes([octet]))
        loop.advance(1)
    assert not transport.is_aborted
    loop.advance(1)
    assert transport.is_aborted


def test_a_second_head_has_its_own_time(loop: SetLoop) -> None:
    transport = FakeTransport()
    protocol = connect(loop, transport)
    protocol.data_received(GET)
    loop.advance(HEAD_SECONDS + 1)
    assert transport.output.endswith(b"\r\n/a\r\n0\r\n\r\n")
    protocol.data_received(GET[:5])
    loop.advance(HEAD_SECONDS - 1)
    assert not transport.is_aborted
    loop.advance(1)
    assert transport.is_aborted


def test_a_body_that_stops_is_cut_off_and_one_that_goes_on_is_not(loop: SetLoop) -> None:
    transport = FakeTransport()
    protocol = connect(loop, transport)
    protocol.data_received(POST)
    for _ in range(3):
        loop.advance(BODY_SECONDS - 1)
        protocol.data_received(b"x")
    assert not transport.is_aborted
    loop.advance(BODY_SECONDS)
    assert transport.is_aborted


def test_a_body_that_never_ends_is_cut_off(loop: SetLoop) -> None:
    transport = FakeTransport()
    protocol = connect(loop, transport)
    protocol.data_received(POST)
    while loop.now <= REQUEST_SECONDS:
        assert not transport.is_aborted
        loop.advance(BODY_SECONDS - 1)
        protocol.data_received(b"x")
    assert transport.is_aborted


def test_a_client_does_not_lose_time_to_an_application_that_does_not_read(loop: SetLoop) -> None:
    async def wait(scope: Any, receive: Any, send: Any) -> None:
        await asyncio.Event().wait()

    transport = FakeTransport()
    protocol = connect(loop, transport, wait)
    protocol.data_received(POST + b"x" * 100_000)
    loop.turn()
    assert transport.is_paused
    loop.advance(3 * BODY_SECONDS)
    loop.advance(3 * BODY_SECONDS)
    assert not transport.is_aborted


@pytest.mark.parametrize(
    "octets",
    [
        b"GET /" + b"x" * _ALMOST,
        b"GET /a HTTP/1.1\r\n" + b"X: y\r\n" * (_ALMOST // 6),
        CHUNKED + b"1;" + b"x" * _ALMOST,
        CHUNKED + b"0\r\nX: " + b"x" * _ALMOST,
    ],
    ids=["path", "headers", "chunk extension", "trailer"],
)
def test_what_frames_a_request_is_bounded(loop: SetLoop, octets: bytes) -> None:
    transport = FakeTransport()
    protocol = connect(loop, transport)
    for start in range(0, len(octets), 100):
        protocol.data_received(octets[start : start + 100])
    assert not transport.is_aborted
    protocol.data_received(b"x" * 1_000)
    assert transport.is_aborted


def test_a_body_in_chunks_of_one_octet_is_no_attack(loop: SetLoop) -> None:
    transport = FakeTransport()
    protocol = connect(loop, transport)
    protocol.data_received(CHUNKED)
    for _ in range(MOST_HEAD_BYTES // 600):
        protocol.data_received(b"1\r\nx\r\n" * 200)
        loop.turn()
    protocol.data_received(b"0\r\n\r\n")
    loop.turn()
    assert not transport.is_aborted
    assert transport.output.startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize("tls", [True, False])
def test_what_is_no_http_gets_an_answer_with_security_headers(loop: SetLoop, tls: bool) -> None:
    transport = FakeTransport(tls=tls)
    connect(loop, transport).data_received(b"GET /a HTTP/1.1\r\n\r\n")
    assert transport.output.startswith(b"HTTP/1.1 400 ")
    assert b"\r\nX-Content-Type-Options: nosniff\r\n" in transport.output
    assert (b"\r\nStrict-Transport-Security: " in transport.output) == tls
    assert transport.is_closed


def test_fields_after_a_body_are_no_headers(loop: SetLoop) -> None:
    names: list[bytes] = []

    async def note(scope: Any, receive: Any, send: Any) -> None:
        names.extend(name for name, _ in scope["headers"])
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body"})

    transport = FakeTransport()
    protocol = connect(loop, transport, note)
    protocol.data_received(CHUNKED + b"0\r\nAuthorization: key\r\nHost: other.test\r\n\r\n" + GET)
    loop.turn()
    assert names == [b"host", b"transfer-encoding", b"host"]


class FullTransport(FakeTransport):
    """Has no room for more after each answer."""

    protocol: PublicProtocol

    def write(self, data: bytes | bytearray | memoryview) -> None:
        super().write(data)
        if data == b"full":
            self.unread = len(self.output)
            self.protocol.pause_writing()


def test_the_next_request_waits_until_the_client_has_read_the_answer(loop: SetLoop) -> None:
    paths: list[bytes] = []

    async def fill(scope: Any, receive: Any, send: Any) -> None:
        paths.append(scope["raw_path"])
        headers = [(b"content-length", b"4")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"full"})

    transport = FullTransport()
    protocol = transport.protocol = connect(loop, transport, fill)
    protocol.data_received(GET * 3)
    for number in range(1, 4):
        loop.turn()
        assert len(paths) == number
        transport.unread = 0
        protocol.resume_writing()
    loop.turn()
    assert transport.output.count(b"HTTP/1.1 200") == 3


def test_only_so_many_connections_come_from_an_address() -> None:
    connections = OpenConnections(lambda address: address == "192.0.2.7")
    assert all(connections.add("192.0.2.1") for _ in range(MOST_OF_ADDRESS))
    assert not connections.add("192.0.2.1")
    assert connections.add("192.0.2.2")
    connections.remove("192.0.2.1")
    connections.remove("192.0.2.1")
    assert connections.add("192.0.2.1")
    assert all(connections.add("192.0.2.7") for _ in range(MOST_OF_ADDRESS + 1))


def test_the_addresses_of_an_ipv6_network_count_as_one() -> None:
    connections = OpenConnections()
    assert all(connections.add(f"2001:db8::{number:x}") for number in range(MOST_OF_ADDRESS))
    assert not connections.add("2001:db8::ffff:1")
    assert connections.add("2001:db8:0:1::1")


def test_all_together_have_a_limit_which_proxies_do_not_exceed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connection, "MOST_CONNECTIONS", 2)
    connections = OpenConnections(lambda address: True)
    assert [connections.add(f"192.0.2.{number}") for number in range(3)] == [True, True, False]
    connections.remove("192.0.2.2")
    connections.remove("192.0.2.1")
    assert connections.add("192.0.2.3")


def test_one_connection_too_many_is_cut_off_and_counts_no_more(
    loop: SetLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "MOST_CONNECTIONS", 0)
    transport = FakeTransport()
    protocol = connect(loop, transport)
    assert transport.is_aborted
    protocol.connection_lost(None)
    monkeypatch.setattr(connection, "MOST_CONNECTIONS", 1)
    assert protocol.open_connections.add("192.0.2.1")
