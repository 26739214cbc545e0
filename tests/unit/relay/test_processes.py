"""A real program serves one port with several processes."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import psutil
import pytest
from prometheus_client.parser import text_string_to_metric_families

from chalicelib.core.process_group import usable_cores
from tests.free_ports import free_port
from tests.unit.relay.fakes import TIMEOUT, Wire

ROOT = Path(__file__).parents[3]
MESSAGE = b"Subject: hello\r\n\r\nbody\r\n"


class Program:
    """A running program and its log."""

    def __init__(self, *ports: int) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.unit.relay.program", *map(str, ports or [0])],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self._lines: queue.Queue[dict[str, Any]] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(json.loads(line))

    def record(self, message: str) -> dict[str, Any]:
        """Wait for the next record of this kind."""
        while (record := self._lines.get(timeout=TIMEOUT))["message"] != message:
            pass
        return record

    def listening(self) -> tuple[int, int]:
        """Wait for one more process to listen; return its id and the port."""
        record = self.record("relay listening")
        return record["process_id"], record["ports"][0]


@pytest.fixture
def program() -> Iterator[Program]:
    running = Program()
    yield running
    # The processes that it supervised end with it.
    running.process.kill()
    running.process.wait(TIMEOUT)


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + TIMEOUT
    while not condition():
        assert time.monotonic() < deadline
        threading.Event().wait(0.01)


def test_two_processes_serve_one_port_and_drain_together(program: Program) -> None:
    (first, port), (second, same) = program.listening(), program.listening()
    assert first != second
    assert port == same
    clients = [Wire(port) for _ in range(30)]
    accepted = [len(psutil.Process(each).net_connections()) - 1 for each in (first, second)]
    assert sum(accepted) == 30
    assert min(accepted) > 0, "the kernel deals connections out"
    busy = clients[0]
    busy.log_in()
    busy.begin_data()
    program.process.send_signal(signal.SIGTERM)
    assert all(client.reply().startswith("421 4.3.2 ") for client in clients[1:])
    assert busy.ask(MESSAGE + b".\r\n").startswith("250 ")
    assert program.process.wait(TIMEOUT) == 0
    totals = [program.record("relay counters") for _ in range(2)]
    assert sum(each["Connections"] for each in totals) == 30
    assert sum(each["MessagesAccepted"] for each in totals) == 1


def test_a_process_that_dies_is_restarted(program: Program) -> None:
    (first, port), (second, _) = program.listening(), program.listening()
    os.kill(first, signal.SIGKILL)
    ended = program.record("relay process ended")
    assert (ended["process_id"], ended["status"]) == (first, -signal.SIGKILL)
    assert Wire(port).greeting.startswith("220 "), "the other goes on"
    third, same = program.listening()
    assert third not in (first, second)
    assert same == port


def test_prometheus_reads_the_sums_of_all_processes_from_any_start() -> None:
    metrics_port = free_port()
    running = Program(0, metrics_port)
    try:
        (first, port), (second, _) = running.listening(), running.listening()
        clients = [Wire(port) for _ in range(20)]
        clients[0].log_in()
        clients[0].begin_data()
        assert clients[0].ask(MESSAGE + b".\r\n").startswith("250 ")
        until(lambda: figure(metrics_port, "connections_open") == 20)
        assert figure(metrics_port, "messages_accepted_total") == 1
        for process in (first, second):
            os.kill(process, signal.SIGKILL)
        running.listening(), running.listening()
        until(lambda: figure(metrics_port, "connections_open") == 0)
        assert figure(metrics_port, "connections_total") == 20, "a counter never falls"
        other = Program(0, metrics_port)
        until(lambda: other.process.poll() is not None)
        assert other.process.returncode
    finally:
        running.process.kill()


def figure(port: int, name: str) -> float | None:
    """Return a figure of the service, as a parser of Prometheus reads it."""
    try:
        with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=TIMEOUT) as response:
            text = response.read().decode()
    except OSError:  # the process that answers is being restarted
        return None
    samples = [each for family in text_string_to_metric_families(text) for each in family.samples]
    (value,) = (
        each.value
        for each in samples
        if each.name == f"postfinch_relay_{name}" and each.labels == {"service": "submission"}
    )
    return float(value)


def test_no_process_outlives_the_supervisor(program: Program) -> None:
    (first, port), (second, _) = program.listening(), program.listening()
    client = Wire(port)
    program.process.kill()
    assert client.reply().startswith("421 4.3.2 ")
    until(lambda: not psutil.pid_exists(first) and not psutil.pid_exists(second))


def test_a_port_in_use_is_an_error_at_the_start(program: Program) -> None:
    _, port = program.listening()
    other = Program(port)
    try:
        until(lambda: other.process.poll() is not None)
        assert other.process.stderr is not None
        assert b"in use" in other.process.stderr.read()
    finally:
        other.process.kill()
        other.process.wait(TIMEOUT)


@pytest.mark.parametrize(
    ("quota", "cores"),
    [
        ("max 100000", 4),
        ("50000 100000", 1),
        ("150000 100000", 2),
        ("900000 100000", 4),
        ("", 4),
    ],
)
def test_a_quota_limits_the_cores(
    quota: str, cores: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 1, 2, 3}, raising=False)
    (tmp_path / "cpu.max").write_text(f"{quota}\n")
    assert usable_cores(tmp_path / "cpu.max") == cores
    assert usable_cores(tmp_path / "none") == 4
