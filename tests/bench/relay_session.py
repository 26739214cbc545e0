"""Compare the relay with a bare aiosmtpd: the same TLS and login, and neither stores anything.

    python -m tests.bench.relay_session

Each server runs in its own process, and the client in another. The client opens 20 connections with
STARTTLS and AUTH PLAIN, and sends the end of one message together with the commands of the next
(RFC 2920). Postfix's smtp-source supports neither TLS nor AUTH. Messages per CPU second of the
server do not depend on the client's speed.
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
from statistics import median
from typing import Any

import psutil  # type: ignore[import-untyped]
from aiosmtpd.smtp import SMTP, AuthResult

from relay.backend import Identity, SubmittedEnvelope
from relay.config import RelayConfig
from relay.server import RelayServer, serve
from relay.services import Submission
from relay.tls import CertificateFiles, TlsContexts, self_signed

CONNECTIONS = 20
ROUNDS = 3
LEAST_RATIO = 0.6
MESSAGE_START = b"From: a@example.test\r\nSubject: bench\r\n\r\n"
_COMMANDS = b"MAIL FROM:<a@example.test>\r\nRCPT TO:<b@example.test>\r\nDATA\r\n"
KEY = "key"


class NullStore:
    """Authenticates every client and stores nothing."""

    def authenticate(self, password: str, subaccount: int | None, peer_ip: str) -> Identity:
        """Return the same identity for every password."""
        return Identity(1, subaccount, "key")

    def accept(self, identity: Identity, envelope: SubmittedEnvelope) -> str:
        """Return the same id for every message."""
        return "1"


class NullHandler:
    """The handler of aiosmtpd, which stores nothing either."""

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:
        """Accept the message and store nothing."""
        return "250 2.0.0 OK 1"


def run_relay(files: CertificateFiles, ready: Pipe) -> None:
    """Run a relay that stores nothing; send its port through the pipe."""

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
    """A connection that pipelines commands."""

    def __init__(self, port: int, trust: ssl.SSLContext, key: str = KEY) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._received = b""
        self._replies(1)
        self._say(b"EHLO bench\r\n", 1)
        self._say(b"STARTTLS\r\n", 1)
        self._socket = trust.wrap_socket(self._socket, server_hostname="localhost")
        self._say(b"EHLO bench\r\n", 1)
        login = b64encode(f"\0SMTP_Injection\0{key}".encode())
        self._say(b"AUTH PLAIN " + login + b"\r\n", 1)

    def send(self, message: bytes, count: int) -> None:
        """Send a message `count` times."""
        self.begin()
        for _ in range(count - 1):
            self._say(message + b".\r\n" + _COMMANDS, 4)
        self._say(message + b".\r\n", 1)
        self._say(b"QUIT\r\n", 1)
        self.close()

    def begin(self) -> None:
        """Begin a message, up to the reply to DATA."""
        self._say(_COMMANDS, 3)

    def trickle(self, octets: bytes) -> None:
        """Send octets without waiting for a reply."""
        self._socket.sendall(octets)

    def close(self) -> None:
        """Close the connection without QUIT."""
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


def trust(files: CertificateFiles) -> ssl.SSLContext:
    """Return a TLS context that trusts the server's certificate."""
    return ssl.create_default_context(cafile=str(files.certificate))


def send_all(
    port: int, files: CertificateFiles, size: int, count: int, reuse: bool, key: str = KEY
) -> None:
    """Send `count` messages of `size` octets over each of 20 connections at once."""
    line = b"x" * 74 + b"\r\n"
    message = MESSAGE_START + line * (size // len(line))
    context = trust(files)

    def connection() -> None:
        if reuse:
            Client(port, context, key).send(message, count)
            return
        for _ in range(count):
            Client(port, context, key).send(message, 1)

    threads = [threading.Thread(target=connection) for _ in range(CONNECTIONS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def measure(
    run: Callable[[CertificateFiles, Pipe], None],
    files: CertificateFiles,
    size: int,
    count: int,
    reuse: bool,
) -> tuple[float, float]:
    """Return messages per second, and messages per CPU second of the server."""
    spawn = multiprocessing.get_context("spawn")
    here, there = spawn.Pipe()
    server = spawn.Process(target=run, args=(files, there))
    server.start()
    try:
        port = here.recv()
        assert server.pid is not None
        process = psutil.Process(server.pid)
        cpu, started = sum(process.cpu_times()[:2]), time.perf_counter()
        client = spawn.Process(target=send_all, args=(port, files, size, count, reuse))
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
    cases = ((5_000, 200, True), (20_000, 100, True), (5_000, 20, False))
    servers = {"relay": run_relay, "aiosmtpd": _run_aiosmtpd}
    print(f"{'':34}{'relay':>9}{'aiosmtpd':>10}   ratio  (messages/s; per CPU s of the server)")
    with tempfile.TemporaryDirectory() as directory:
        files = self_signed(Path(directory), "localhost")
        for size, count, reuse in cases:
            figures: dict[str, list[tuple[float, float]]] = {name: [] for name in servers}
            for _ in range(ROUNDS):
                for name, run in servers.items():
                    figures[name].append(measure(run, files, size, count, reuse))
            way = "one connection" if reuse else "a connection each"
            for figure, unit in ((0, "/s"), (1, "/CPU s")):
                rates = [median(each[figure] for each in figures[name]) for name in servers]
                ratio = rates[0] / rates[1]
                verdict = "holds" if ratio >= LEAST_RATIO else "FAILS"
                print(
                    f"{size:>6} B {way:18}{unit:>7}{rates[0]:>10.0f}{rates[1]:>10.0f}{ratio:>8.2f}"
                    f"  [{verdict}: at least {LEAST_RATIO}]",
                    flush=True,
                )


if __name__ == "__main__":
    main()
