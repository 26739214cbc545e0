from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from infrastructure.local.supervisor import processes
from infrastructure.local.supervisor.processes import _Watched
from tests.unit.infrastructure.clouds import DEADLINE, eventually
from tests.unit.infrastructure.local.supervised import STAYS, Supervised, is_alive

Start = Callable[..., Supervised]
# A program that ignores SIGTERM, and forks a child that ignores it too.
STUBBORN = (
    "import os, signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); os.fork(); "
    "open('stubborn', 'a').write(f'{os.getpid()}\\n'); time.sleep(600)"
)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    started: list[Supervised] = []

    def begin(*groups: list[list[Any]], **options: Any) -> Supervised:
        started.append(Supervised(tmp_path, *groups, **options))
        return started[-1]

    yield begin
    for each in started:
        each.close()


def stays(name: str) -> list[Any]:
    return [name, STAYS.format(name), name]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_stops_everything_and_the_status_is_zero(
    start: Start, number: signal.Signals
) -> None:
    supervised = start([stays("a"), stays("b")])
    supervised.wait_until_ready()
    pids = supervised.pids("a") + supervised.pids("b")
    assert all(is_alive(pid) for pid in pids)
    assert supervised.stop(number) == 0
    assert not any(is_alive(pid) for pid in pids)


def test_a_signal_during_the_start_stops_it(start: Start) -> None:
    supervised = start([stays("a")], [["never", STAYS.format("never"), "not there"]])
    pids = supervised.pids("a") + supervised.pids("never")
    assert supervised.stop() == 0
    assert not any(is_alive(pid) for pid in pids)


def test_the_last_group_is_stopped_first(start: Start) -> None:
    says = (
        "import signal, sys, time\n"
        "def end(*_): open('order', 'a').write('{0}\\n'); sys.exit()\n"
        "signal.signal(signal.SIGTERM, end)\n"
        "open('{0}', 'w'); time.sleep(600)"
    )
    supervised = start(*([[name, says.format(name), name]] for name in ("one", "two", "three")))
    supervised.wait_until_ready()
    supervised.stop()
    assert (supervised.where / "order").read_text().split() == ["three", "two", "one"]


def test_a_process_that_ignores_sigterm_is_killed_with_its_children_after_the_grace(
    start: Start,
) -> None:
    supervised = start([["stubborn", STUBBORN, "stubborn"]], grace=0.3)
    supervised.wait_until_ready()
    pids = supervised.pids("stubborn", 2)
    started = time.monotonic()
    supervised.stop()
    assert 0.3 <= time.monotonic() - started < 5
    eventually(lambda: not any(is_alive(pid) for pid in pids), 2)


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel tells orphans on Linux only")
def test_a_killed_supervisor_leaves_no_process_behind(start: Start) -> None:
    supervised = start([stays("a"), stays("b")])
    supervised.wait_until_ready()
    pids = supervised.pids("a") + supervised.pids("b")
    supervised.stop(signal.SIGKILL)
    eventually(lambda: not any(is_alive(pid) for pid in pids))


def test_a_process_that_ends_is_started_again(start: Start) -> None:
    supervised = start([["dies", "open('dies', 'a').write('1\\n')", None]])
    supervised.wait_until_ready()
    assert len(supervised.pids("dies", 3)) >= 3
    assert supervised.stop() == 0


def test_processes_started_after_a_foundation_restart_with_it(start: Start) -> None:
    foundation = [*stays("cloud"), True]
    supervised = start([foundation, stays("sink")], [stays("worker")], [stays("api")])
    supervised.wait_until_ready()
    (cloud,), (worker,), (api,) = (supervised.pids(each) for each in ("cloud", "worker", "api"))
    os.kill(worker, signal.SIGKILL)
    supervised.pids("worker", 2)
    assert is_alive(api), "only the end of a foundation ends other processes"
    os.kill(cloud, signal.SIGKILL)
    assert len(supervised.pids("api", 2)) == 2
    assert len(supervised.pids("worker", 3)) == 3
    assert not is_alive(api)
    assert len(supervised.pids("cloud", 2)) == 2
    assert len(supervised.pids("sink")) == 1
    assert supervised.stop() == 0


def test_a_failed_start_shows_the_last_lines_and_stops_the_rest(start: Start) -> None:
    fails = "import sys; [print('line', i) for i in range(50)]; sys.exit('no luck')"
    supervised = start([stays("a")], [["fails", fails, "never"]])
    assert supervised.process.wait(DEADLINE) == 1
    assert supervised.process.stderr is not None
    error_output = supervised.process.stderr.read()
    assert "fails ended with status 1" in error_output
    assert error_output.rstrip().endswith("no luck")
    assert [f"line {i}" for i in range(31, 50)] == error_output.splitlines()[-20:-1]
    assert not is_alive(supervised.pids("a")[0])


def test_a_process_that_is_not_ready_in_time_is_a_failed_start(start: Start) -> None:
    supervised = start([["slow", STAYS.format("slow"), "never"]], patience=0.3)
    assert supervised.process.wait(DEADLINE) == 1
    assert supervised.process.stderr is not None
    assert "slow was not ready in time" in supervised.process.stderr.read()


def test_a_command_that_fails_is_a_failed_start_and_one_that_succeeds_is_not_restarted(
    start: Start,
) -> None:
    once = ["once", "open('once', 'a').write('1\\n')", None]
    supervised = start(runs=[once, ["fails", "raise SystemExit(3)", None]])
    assert supervised.process.wait(DEADLINE) == 1
    assert supervised.process.stderr is not None
    assert "fails ended with status 3" in supervised.process.stderr.read()
    assert (supervised.where / "once").read_text() == "1\n"


class FakeChild:
    """A child that has always ended; it records the times of its restarts."""

    def __init__(self, clock: list[float]) -> None:
        self.clock = clock
        self.starts: list[float] = []
        self.process = type("Named", (), {"name": "fake", "foundation": False})
        self.log = Path("fake.log")

    def status(self) -> int:
        return 1

    def restart(self) -> None:
        self.starts.append(self.clock[0])


def test_pauses_double_up_to_five_seconds_and_reset_after_ten_healthy_seconds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = [100.0]
    monkeypatch.setattr(processes.time, "monotonic", lambda: clock[0])
    child = FakeChild(clock)
    watched = _Watched(child)  # type: ignore[arg-type]
    for _ in range(8):
        clock[0] += watched.revive()
        watched.revive()
    gaps = [round(b - a, 1) for a, b in zip([100.0, *child.starts], child.starts, strict=False)]
    assert gaps == [0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0, 5.0]
    clock[0] += 10.5
    assert watched.revive() == pytest.approx(0.2)
