"""A client that does not read, or sends without a pause, takes no more than its share."""

from __future__ import annotations

import asyncio
import socket
from contextlib import ExitStack
from typing import Any

import pytest

from infrastructure.local.mail_readers import companion
from infrastructure.local.mail_readers.connection import ClientGone, Connection
from tests.unit.infrastructure.local.mail_readers.conftest import Post


class Transport:
    """A transport of a client that reads nothing."""

    def __init__(self) -> None:
        self.octets = 0

    def write(self, octets: bytes) -> None:
        self.octets += len(octets)

    def is_reading(self) -> bool:
        return True


def test_few_octets_wait_for_a_client_that_does_not_read() -> None:
    async def sent_octets() -> int:
        connection = Connection(_nothing, idle_seconds=1)
        transport: Any = Transport()
        connection._transport = transport
        connection.pause_writing()
        sending = asyncio.create_task(connection.send(bytes(10_000_000)))
        for _ in range(100):
            await asyncio.sleep(0)
        assert not sending.done()
        sending.cancel()
        return transport.octets + len(connection._output)

    assert asyncio.run(sent_octets()) < 200_000


def test_other_sessions_run_between_lines_that_came_together() -> None:
    async def lines_before_others() -> int:
        connection = Connection(_nothing, idle_seconds=1)
        connection._input += b"\r\n" * 10_000
        transport: Any = Transport()
        connection._transport = transport
        number = 0

        async def read() -> None:
            nonlocal number
            for _ in range(10_000):
                await connection.line(10)
                number += 1

        reading = asyncio.create_task(read())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        before = number
        await reading
        return before

    assert asyncio.run(lines_before_others()) < 1_000


def test_what_a_client_sent_before_it_left_is_not_answered_for_long() -> None:
    async def read() -> None:
        connection = Connection(_nothing, idle_seconds=1)
        connection._input += b"\r\n" * 10_000
        connection.connection_lost(None)
        for _ in range(10_000):
            await connection.line(10)

    with pytest.raises(ClientGone):
        asyncio.run(read())


async def _nothing(connection: Connection) -> None:
    pass


def test_clients_that_do_not_log_in_leave_for_others(
    post: Post, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(companion, "_MOST_CONNECTIONS", 3)
    with ExitStack() as clients:
        silent = clients.enter_context(_connected(post.pop3))
        other = clients.enter_context(_connected(post.imap))
        for _ in range(3):
            clients.enter_context(_logged_in(post))
        assert silent.recv(1000) == b""
        assert other.recv(1000) == b""
        for port, refusal in ((post.imap, b"* BYE"), (post.pop3, b"-ERR [SYS/TEMP]")):
            last = clients.enter_context(socket.create_connection(("127.0.0.1", port), timeout=60))
            assert last.recv(1000) == refusal + b" too many connections\r\n"


def _connected(port: int) -> socket.socket:
    client = socket.create_connection(("127.0.0.1", port), timeout=60)
    assert client.recv(1000).endswith(b"\r\n")
    return client


def _logged_in(post: Post) -> socket.socket:
    client = _connected(post.pop3)
    client.sendall(b"USER a\r\nPASS b\r\n")
    answer = b""
    while answer.count(b"\n") < 2:
        octets = client.recv(100)
        assert octets
        answer += octets
    assert answer.count(b"+OK") == 2
    return client
