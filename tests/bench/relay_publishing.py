"""Measure how many messages a second the relay stores and queues on the local cloud.

A client sends 5 KB messages over 20 connections with STARTTLS and AUTH, to one relay process and to
two. Each message is one transaction and one queue message. The processor time of a message in the
relay and in the cloud shows which of them limits the rate; here they share one machine.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil  # type: ignore[import-untyped]

from chalicelib.api_keys import model as keys
from infrastructure.bootstrap import first_start
from infrastructure.local.supervisor.probes import greets_by_smtp
from relay.tls import CertificateFiles
from tests.bench.local_cloud import local_cloud
from tests.bench.relay_session import CONNECTIONS, send_all
from tests.free_ports import free_port
from tests.journey.service import ROOT, eventually

KEY = keys.draw_key()
SIZE = 5_000
EACH = 25


def main() -> None:
    """Print one line for each number of processes."""
    with local_cloud(), tempfile.TemporaryDirectory() as directory:
        first_start(KEY)
        for processes in (1, 2):
            with _relay(Path(directory), processes) as (relay, port):
                files = CertificateFiles(*(Path(directory) / name for name in _FILES))
                send_all(port, files, SIZE, 1, True, KEY)  # resolves addresses and fills caches
                _measure(relay, port, files, processes)


_FILES = ("relay-cert.pem", "relay-key.pem")


def _measure(relay: psutil.Process, port: int, files: CertificateFiles, processes: int) -> None:
    (cloud,) = [
        each
        for each in psutil.Process().children()
        if "infrastructure.local.cloud" in each.cmdline()
    ]
    before, began = (_cpu(relay), _cpu(cloud)), time.perf_counter()
    send_all(port, files, SIZE, EACH, True, KEY)
    seconds = time.perf_counter() - began
    messages = CONNECTIONS * EACH
    relay_ms, cloud_ms = (
        (after - earlier) / messages * 1000
        for after, earlier in zip((_cpu(relay), _cpu(cloud)), before, strict=True)
    )
    print(
        f"{processes} process(es): {messages / seconds:.0f} messages/s stored and queued; "
        f"a message takes {relay_ms:.1f} ms of CPU in the relay, {cloud_ms:.1f} ms in the cloud",
        flush=True,
    )


def _cpu(process: psutil.Process) -> float:
    family = [process, *process.children(recursive=True)]
    return sum(sum(each.cpu_times()[:2]) for each in family)


@contextmanager
def _relay(directory: Path, processes: int) -> Iterator[tuple[psutil.Process, int]]:
    port = free_port()
    environment = {
        "RELAY_HOST": "127.0.0.1",
        "RELAY_PORTS": str(port),
        "RELAY_INBOUND_PORTS": "",
        "RELAY_PROCESSES": str(processes),
        "RELAY_TLS_DIRECTORY": str(directory),
    }
    relay = subprocess.Popen(
        [sys.executable, "-m", "relay"],
        cwd=ROOT,
        env=os.environ | environment,
        stdout=subprocess.DEVNULL,
    )
    try:
        eventually(lambda: greets_by_smtp(port))
        yield psutil.Process(relay.pid), port
    finally:
        relay.send_signal(signal.SIGTERM)
        relay.wait()


if __name__ == "__main__":
    main()
