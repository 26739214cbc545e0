"""Measure the delay that 200 idle and ten slow connections cause for a normal client.

The idle connections are logged in over TLS; a slow one sends an octet of a command, or of a
message, every 20 ms. A client that connects, logs in and sends ten messages is timed with and
without them, in alternating rounds.
"""

from __future__ import annotations

import multiprocessing
import ssl
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from multiprocessing.connection import Connection as Pipe
from pathlib import Path

from relay.tls import CertificateFiles, self_signed
from tests.bench.relay_session import MESSAGE_START, Client, run_relay, trust

IDLE = 200
SLOW = 10
ROUNDS = 8
MESSAGES = 10
MOST_MS = 50.0
_OCTET_SECONDS = 0.02


def main() -> None:
    """Print how long the client takes alone and beside the other connections."""
    spawn = multiprocessing.get_context("spawn")
    here, there = spawn.Pipe()
    with tempfile.TemporaryDirectory() as directory:
        files = self_signed(Path(directory), "localhost")
        server = spawn.Process(target=run_relay, args=(files, there))
        server.start()
        try:
            _compare(_port(here), files)
        finally:
            server.terminate()
            server.join()


def _port(ready: Pipe) -> int:
    port: int = ready.recv()
    return port


def _compare(port: int, files: CertificateFiles) -> None:
    context = trust(files)
    alone, beside_others = [], []
    for _ in range(ROUNDS):
        alone.append(_milliseconds(port, context))
        with _other_connections(port, context):
            beside_others.append(_milliseconds(port, context))
    delay = statistics.median(beside_others) - statistics.median(alone)
    verdict = "holds" if delay <= MOST_MS else "FAILS"
    print(
        f"connect, log in and send {MESSAGES}: alone {statistics.median(alone):.0f} ms "
        f"(slowest {max(alone):.0f}), beside {IDLE} idle and {SLOW} slow connections "
        f"{statistics.median(beside_others):.0f} ms (slowest {max(beside_others):.0f}): "
        f"{delay:+.0f} ms [{verdict}: at most {MOST_MS:.0f}]"
    )


def _milliseconds(port: int, context: ssl.SSLContext) -> float:
    began = time.perf_counter()
    Client(port, context).send(MESSAGE_START + b"x\r\n", MESSAGES)
    return (time.perf_counter() - began) * 1000


@contextmanager
def _other_connections(port: int, context: ssl.SSLContext) -> Iterator[None]:
    stop = threading.Event()
    with ExitStack() as connections:
        for _ in range(IDLE):
            connections.callback(Client(port, context).close)
        threads = [
            threading.Thread(target=_trickle, args=(port, context, number % 2 == 0, stop))
            for number in range(SLOW)
        ]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            stop.set()
            for thread in threads:
                thread.join()


def _trickle(port: int, context: ssl.SSLContext, in_message: bool, stop: threading.Event) -> None:
    client = Client(port, context)
    if in_message:
        client.begin()
    while not stop.wait(_OCTET_SECONDS):
        client.trickle(b"x")
    client.close()


if __name__ == "__main__":
    main()
