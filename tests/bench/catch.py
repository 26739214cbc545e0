"""Catch messages of 5 KB beside a bare aiosmtpd and, if it is on this machine, Mailpit.

    python -m tests.bench.catch

The sender is one process that keeps sixteen connections busy; it takes a processor of its own. The
bare aiosmtpd stores nothing. Rounds of all servers alternate, and each rate is also given as a
fraction of the RSA-2048 signatures that one core makes in a second, so that machines compare.
Then 100,000 messages are caught, and the memory of the process that catches them is judged. A
message is looked for from another process, as the API does.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from statistics import median, quantiles
from typing import cast

import psutil  # type: ignore[import-untyped]
import uvloop
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.hashes import SHA256

from infrastructure.local import certificates
from infrastructure.local.mailbox.mailbox import SinkMailbox
from tests.bench.timing import alternating, rates, verdict
from tests.free_ports import free_port

CONNECTIONS = 16
MESSAGES, ROUNDS = 6_000, 3
MANY, FIRST = 100_000, 10_000
LEAST_RATE, MOST_MS, MOST_GROWTH_KB = 2_000, 50.0, 2_048
# RSA-2048 signatures a second of a core, on the machine for which LEAST_RATE is meant
_ITS_SIGNATURES = 4_028
_LINE = "This is a line of the text of a message, as an application writes it.\r\n"
_HEAD = (
    "From: Shop <shop@app.example>\r\nTo: ann@inbox.test\r\nSubject: Order {number}\r\n"
    "Message-ID: <{number}@app.example>\r\nDate: Sat, 28 Nov 2026 18:00:00 +0000\r\n"
    "MIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n"
)
_BODY = _LINE * (5 * 1024 // len(_LINE))
_ENVELOPE = b"MAIL FROM:<shop@app.example>\r\nRCPT TO:<ann@inbox.test>\r\nDATA\r\n"


class _Sender(asyncio.Protocol):
    """A connection that sends messages one after the other, as long as there are some."""

    def __init__(self, numbers: Iterator[int], done: asyncio.Future[None]) -> None:
        self._numbers = numbers
        self._done = done
        self._received = b""
        self._step: Callable[[], None] = self._greet

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Wait for the greeting."""
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        """Take the next step once the last line of a reply is there."""
        self._received += data
        last = self._received[:-2].rpartition(b"\r\n")[2]
        is_whole = self._received.endswith(b"\r\n") and last[3:4] == b" "
        if is_whole and (self._step != self._send_content or last.startswith(b"354")):
            self._received = b""
            self._step()

    def connection_lost(self, error: Exception | None) -> None:
        """End; a sender whose messages are not all taken has failed."""
        if not self._done.done():
            self._done.set_exception(error or ConnectionError("the server closed the connection"))

    def _greet(self) -> None:
        self._transport.write(b"EHLO bench\r\n")
        self._step = self._send_envelope

    def _send_envelope(self) -> None:
        number = next(self._numbers, None)
        if number is None:
            self._done.set_result(None)
            self._transport.close()
            return
        self._content = (_HEAD.format(number=number) + _BODY + ".\r\n").encode()
        self._transport.write(_ENVELOPE)
        self._step = self._send_content

    def _send_content(self) -> None:
        self._transport.write(self._content)
        self._step = self._send_envelope


async def _send_all(port: int, count: int) -> None:
    loop = asyncio.get_running_loop()
    numbers, ends = iter(range(count)), []
    for _ in range(CONNECTIONS):
        ends.append(done := loop.create_future())
        await loop.create_connection(lambda done=done: _Sender(numbers, done), "127.0.0.1", port)  # type: ignore[misc]
    await asyncio.gather(*ends)


def _sending(port: int, count: int) -> None:
    uvloop.run(_send_all(port, count))


def _rate(port: int, count: int) -> float:
    """Send from a process of its own; return messages a second."""
    process = multiprocessing.Process(target=_sending, args=(port, count))
    started = time.perf_counter()
    process.start()
    process.join()
    if process.exitcode:
        raise RuntimeError("the sender failed")
    return count / (time.perf_counter() - started)


def _bare_aiosmtpd(port: int) -> None:
    from aiosmtpd.controller import Controller

    class Handler:
        async def handle_DATA(self, server: object, session: object, envelope: object) -> str:
            return "250 OK"

    Controller(Handler(), hostname="127.0.0.1", port=port).start()
    signal.pause()


@contextmanager
def _running(
    process: subprocess.Popen[bytes] | multiprocessing.Process, port: int
) -> Iterator[int]:
    """Wait until a server greets; end it afterwards."""
    try:
        for _ in range(500):
            try:
                with socket.create_connection(("127.0.0.1", port), 5) as probe:
                    if probe.recv(3) == b"220":
                        break
            except OSError:
                time.sleep(0.02)
        else:
            raise RuntimeError("a server did not start")
        yield port
    finally:
        process.terminate()
        process.wait() if isinstance(process, subprocess.Popen) else process.join()


def _catching(data: Path, port: int) -> subprocess.Popen[bytes]:
    certificates.provide(data)
    environment = {**os.environ, "DATA_DIR": str(data), "CATCH_PORT": str(port)}
    return subprocess.Popen(
        [sys.executable, "-m", "infrastructure.local.catching"], env=environment
    )


def _mailpit(program: str, data: Path, port: int) -> subprocess.Popen[bytes]:
    options = ("--smtp", f"127.0.0.1:{port}", "--listen", f"127.0.0.1:{free_port()}", "--quiet")
    database = ("--database", str(data / "mailpit.db"), "--max", "0")
    return subprocess.Popen([program, *options, *database])


def _signatures() -> float:
    key = rsa.generate_private_key(65537, 2048)
    return rates({"rsa": lambda: key.sign(b"x", PKCS1v15(), SHA256())}, rounds=5)["rsa"]


def _compare(data: Path, servers: dict[str, int], catching: psutil.Process) -> None:
    spent: list[float] = []

    def caught() -> float:
        before = sum(catching.cpu_times()[:2])
        rate = _rate(servers["Postfinch"], MESSAGES)
        spent.append((sum(catching.cpu_times()[:2]) - before) * 1000 / MESSAGES)
        return rate

    others = {name: partial(_rate, port, MESSAGES) for name, port in servers.items()}
    tasks: dict[str, Callable[[], float]] = {**others, "Postfinch": caught}
    signatures = _signatures()
    for name, results in alternating(tasks, ROUNDS).items():
        rate = median(results)
        print(f"{name:14} {rate:6.0f} messages/s, {rate / signatures:.2f} of RSA-2048 signatures/s")
        if name == "Postfinch":
            least = LEAST_RATE / _ITS_SIGNATURES
            print(f"{'':14} {median(spent):.3f} ms of one core for a message")
            holds = rate >= LEAST_RATE or rate / signatures >= least
            print(f"{'':14} at least {LEAST_RATE}/s, or {least:.2f} of RSA-2048: {verdict(holds)}")
    print(f"{'RSA-2048':14} {signatures:6.0f} signatures/s of a core")


def _look_up(data: Path, port: int) -> None:
    """Print how long it takes from the end of a message until another process finds it."""
    mailbox = SinkMailbox(data / "mail")
    content = (_HEAD.format(number=0) + _BODY + ".\r\n").encode()
    times = []
    with socket.create_connection(("127.0.0.1", port)) as client, client.makefile("rb") as replies:
        replies.readline()
        client.sendall(b"HELO bench\r\n")
        replies.readline()
        for _ in range(500):
            client.sendall(_ENVELOPE)
            for _ in range(3):
                replies.readline()
            started = time.perf_counter()
            client.sendall(content)
            message_id = replies.readline().split()[-1].decode()
            while mailbox.index.row(message_id) is None:
                pass
            times.append((time.perf_counter() - started) * 1000)
    mailbox.close()
    slow = quantiles(times, n=100)[98]
    print(
        f"{'findable':14} {median(times):.2f} ms after a message's end, 99th of a hundred"
        f" {slow:.2f} ms: {verdict(slow <= MOST_MS)}"
    )


def _keep_many(catching: psutil.Process, port: int) -> None:
    """Print by how much the largest memory of the process grows from 10,000 messages to 100,000."""
    sizes = []
    for count in (FIRST, MANY - FIRST):
        rate = _rate(port, count)
        status = Path(f"/proc/{catching.pid}/status").read_text()
        sizes.append(int(status.partition("VmHWM:")[2].split()[0]))
    growth = sizes[1] - sizes[0]
    print(
        f"{'memory':14} {sizes[0] / 1024:.0f} MB at most with {FIRST} messages, {growth} KB more"
        f" with {MANY} ({rate:.0f}/s): {verdict(growth <= MOST_GROWTH_KB)}"
    )


def main() -> None:
    """Print the figures."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as running:
        data = Path(folder)
        ports = {name: free_port() for name in ("Postfinch", "bare aiosmtpd")}
        process = _catching(data, ports["Postfinch"])
        running.enter_context(_running(process, ports["Postfinch"]))
        bare = multiprocessing.Process(target=_bare_aiosmtpd, args=(ports["bare aiosmtpd"],))
        bare.start()
        running.enter_context(_running(bare, ports["bare aiosmtpd"]))
        if program := shutil.which("mailpit"):
            ports["Mailpit"] = free_port()
            running.enter_context(
                _running(_mailpit(program, data, ports["Mailpit"]), ports["Mailpit"])
            )
        else:
            print(f"{'Mailpit':14} is not on this machine, and is left out")
        catching = psutil.Process(process.pid)
        _compare(data, ports, catching)
        _look_up(data, ports["Postfinch"])
        _keep_many(catching, ports["Postfinch"])


if __name__ == "__main__":
    main()
