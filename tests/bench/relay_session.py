"""The relay against a bare aiosmtpd: the same TLS and login, both storing nothing.

    python -m tests.bench.relay_session

Each server runs in its own process, the client in another: 20 connections, STARTTLS, AUTH PLAIN,
and the end of one message sent together with the commands of the next (RFC 2920). The second figure
is messages per CPU second of the server, which does not depend on the client's speed.
"""

from __future__ import annotations

import asyncio
import logging
import multiprocessing
import os
import signal
import socket
import ssl
import tempfile
import threading
import time
from base64 import b64encode
from collections.abc import Callable
from multiprocessing.connection import Connection as Pipe
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped]
from aiosmtpd.smtp import SMTP, AuthResult

from relay.config import RelayConfig
from relay.ports import Envelope, Identity
from relay.server import RelayServer, serve
from relay.services import Submission
from relay.tls import CertificateFiles, TlsContexts, self_signed

CONNECTIONS = 20
_COMMANDS = b"MAIL FROM:<a@example.test>\r\nRCPT TO:<b@example.test>\r\nDATA\r\n"
_LOGIN = b"AUTH PLAIN " + b64encode(b"\0SMTP_Injection\0key") + b"\r\n"


class NullStore:
    """Lets everyone in and stores nothing."""

    def authenticate(self, password: str, subaccount: int | None, peer_ip: str) -> Identity:
        """Always the same sender."""
        return Identity(1, subaccount, "key")

    def check_sender(self, identity: Identity, mail_from: str) -> None:
        """Any sender."""

    def accept(self, identity: Identity, envelope: Envelope) -> str:
        """Always the same id."""
        return "1"


class NullHandler:
    """aiosmtpd's side of the comparison."""

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:
        """Store nothing."""
        return "250 2.0.0 OK 1"


def _run_relay(files: CertificateFiles, ready: Pipe) -> None:
    async def main() -> None:
        store = NullStore()
        config = RelayConfig(ports=(0,), max_messages=10**9)
        relay = RelayServer(config, Submission(store, store), TlsContexts(files))
        asyncio.get_running_loop().call_later(0.3, lambda: ready.send(relay.ports[0]))
        await serve(relay)

    asyncio.run(main())


def _run_aiosmtpd(files: CertificateFiles, ready: Pipe) -> None:
    # Each login writes a warning about an attribute that aiosmtpd itself sets.
    logging.getLogger("mail.log").setLevel(logging.ERROR)

    async def main() -> None:
        loop = asyncio.get_running_loop()
        context = TlsContexts(files).current()

        def session() -> SMTP:
            return SMTP(
                NullHandler(),
                loop=loop,
                hostname="localhost",
                tls_context=context,
                require_starttls=True,
                auth_required=True,
                authenticator=lambda *_: AuthResult(success=True),
            )

        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        listener.bind(("127.0.0.1", 0))
        await loop.create_server(session, sock=listener)
        ready.send(listener.getsockname()[1])
        await asyncio.Event().wait()

    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    asyncio.run(main())


class Client:
    """One pipelining connection."""

    def __init__(self, port: int, trust: ssl.SSLContext) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._received = b""
        self._replies(1)
        self._say(b"EHLO bench\r\n", 1)
        self._say(b"STARTTLS\r\n", 1)
        self._socket = trust.wrap_socket(self._socket, server_hostname="localhost")
        self._say(b"EHLO bench\r\n", 1)
        self._say(_LOGIN, 1)

    def send(self, message: bytes, count: int) -> None:
        """Send a message `count` times."""
        self._say(_COMMANDS, 3)
        for _ in range(count - 1):
            self._say(message + b".\r\n" + _COMMANDS, 4)
        self._say(message + b".\r\n", 1)
        self._say(b"QUIT\r\n", 1)
        self._socket.close()

    def _say(self, octets: bytes, replies: int) -> None:
        self._socket.sendall(octets)
        self._replies(replies)

    def _replies(self, count: int) -> None:
        while count:
            line, end, rest = self._received.partition(b"\r\n")
            if not end:
                self._received += self._socket.recv(65536)
                continue
            if line[:1] not in b"23":
                raise AssertionError(line)
            self._received = rest
            count -= line[3:4] != b"-"


def _trust(files: CertificateFiles) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(files.certificate))


def _send_all(port: int, files: CertificateFiles, size: int, count: int, reuse: bool) -> None:
    line = b"x" * 74 + b"\r\n"
    message = b"Subject: bench\r\n\r\n" + line * (size // len(line))
    trust = _trust(files)

    def connection() -> None:
        if reuse:
            Client(port, trust).send(message, count)
            return
        for _ in range(count):
            Client(port, trust).send(message, 1)

    threads = [threading.Thread(target=connection) for _ in range(CONNECTIONS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _measure(
    run: Callable[[CertificateFiles, Pipe], None],
    files: CertificateFiles,
    size: int,
    count: int,
    reuse: bool,
) -> tuple[float, float]:
    """Messages per second, and per CPU second of the server."""
    spawn = multiprocessing.get_context("spawn")
    here, there = spawn.Pipe()
    server = spawn.Process(target=run, args=(files, there))
    server.start()
    try:
        port = here.recv()
        assert server.pid is not None
        process = psutil.Process(server.pid)
        cpu, started = sum(process.cpu_times()[:2]), time.perf_counter()
        client = spawn.Process(target=_send_all, args=(port, files, size, count, reuse))
        client.start()
        client.join()
        seconds = time.perf_counter() - started
        cpu = sum(process.cpu_times()[:2]) - cpu
    finally:
        server.terminate()
        server.join()
    messages = CONNECTIONS * count
    return messages / seconds, messages / cpu


def main() -> None:
    """Print one line for each way of sending."""
    cases = ((5_000, 400, True), (20_000, 200, True), (5_000, 25, False))
    servers = (("relay", _run_relay), ("aiosmtpd", _run_aiosmtpd))
    print(f"{'':30}{'messages/s':>12}{'per CPU s':>12}")
    with tempfile.TemporaryDirectory() as directory:
        files = self_signed(Path(directory), "localhost")
        for size, count, reuse in cases:
            way = "one connection" if reuse else "new connections"
            for name, run in servers:
                rate, per_cpu = _measure(run, files, size, count, reuse)
                print(f"{name:10}{size:>7} B {way:16}{rate:>8.0f}{per_cpu:>12.0f}")


if __name__ == "__main__":
    main()
