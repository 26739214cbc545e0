from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from infrastructure.local import certificates
from infrastructure.local.supervisor.probes import answers_http, greets_by_smtp
from tests.free_ports import free_port


@contextmanager
def server_that_says(words: bytes) -> Iterator[int]:
    """A server that sends ``words`` to one client, and closes after its first bytes."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.sendall(words)
                connection.recv(1024)

        thread = threading.Thread(target=serve)
        thread.start()
        yield listener.getsockname()[1]
        thread.join()


def test_the_http_probe_accepts_an_expected_status() -> None:
    with server_that_says(b"HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n") as port:
        assert answers_http(port, "/", (200, 401))


def test_the_http_probe_rejects_other_statuses_and_other_protocols() -> None:
    for words in (b"HTTP/1.1 503 Later\r\nContent-Length: 0\r\n\r\n", b"220 hello\r\n"):
        with server_that_says(words) as port:
            assert not answers_http(port, "/", (200, 401))


def test_the_smtp_probe_accepts_only_220() -> None:
    for words, expected in ((b"220 mail\r\n", True), (b"421 busy\r\n", False), (b"2", False)):
        with server_that_says(words) as port:
            assert greets_by_smtp(port) is expected


def test_the_smtp_probe_asks_under_tls_and_does_not_wait_for_long(tmp_path: Path) -> None:
    certificates.provide(tmp_path)
    context = certificates.server_context(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        for is_tls in (True, False):
            assert not greets_by_smtp(port, is_tls=is_tls, seconds=0.05), "nobody accepts"
            listener.accept()[0].close()

        def serve() -> None:
            with context.wrap_socket(listener.accept()[0], server_side=True) as connection:
                connection.sendall(b"220 mail\r\n")
                connection.recv(1024)

        thread = threading.Thread(target=serve)
        thread.start()
        assert greets_by_smtp(port, is_tls=True)
        thread.join()


def test_the_probes_fail_when_nothing_listens() -> None:
    port = free_port()
    assert not answers_http(port, "/", (200,))
    assert not greets_by_smtp(port)
