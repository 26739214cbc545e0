from __future__ import annotations

import json
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
from tests.unit.infrastructure.clouds import DEADLINE, ROOT, eventually
from tests.unit.infrastructure.local.supervised import STAYS, Supervised, is_alive

Start = Callable[..., Supervised]
# A program that ends, but not while the supervisor starts: that would be a start that failed.
DIES = (
    "import os, time; open('dies', 'a').write('1\\n')\n"
    "while not os.path.exists('started'): time.sleep(0.01)"
)
# A program that ignores SIGTERM, and forks a child that ignores it too.
STUBBORN = (
    "import os, signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); os.fork(); "
    "open('stubborn', 'a').write(f'{os.getpid()}\\n'); time.sleep(600)"
)

TELLS = (
    f"import os, sys, time; sys.path.insert(0, {str(ROOT)!r}); "
    "os.environ['NOTICES'] = 'notices'; "
    "from infrastructure.local.notices import tell; tell('something to know'); time.sleep(600)"
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
    assert 0.3 <= time.monotonic() - started < 300, "without a signal it sleeps for 600 s"
    eventually(lambda: not any(is_alive(pid) for pid in pids))


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel tells orphans on Linux only")
def test_a_killed_supervisor_leaves_no_process_behind(start: Start) -> None:
    supervised = start([stays("a"), stays("b")])
    supervised.wait_until_ready()
    pids = supervised.pids("a") + supervised.pids("b")
    supervised.stop(signal.SIGKILL)
    eventually(lambda: not any(is_alive(pid) for pid in pids))


def test_a_process_that_ends_is_started_again(start: Start) -> None:
    supervised = start([["dies", DIES, None]])
    supervised.wait_until_ready()
    (supervised.where / "started").touch()
    assert len(supervised.pids("dies", 3)) >= 3
    assert supervised.stop() == 0


def test_processes_go_on_when_one_that_was_started_before_them_ends(start: Start) -> None:
    supervised = start([stays("cloud"), stays("sink")], [stays("api")])
    supervised.wait_until_ready()
    (cloud,), (api,) = supervised.pids("cloud"), supervised.pids("api")
    os.kill(cloud, signal.SIGKILL)
    assert len(supervised.pids("cloud", 2)) == 2
    assert is_alive(api)
    assert len(supervised.pids("sink")) == 1
    assert supervised.stop() == 0


# A program that leaves a child behind, which ends after it
LEAVES_ORPHANS = (
    "import os, time\n"
    "if os.fork() == 0:\n"
    "    if pid := os.fork():\n"
    "        open('orphan', 'a').write(f'{pid}\\n')\n"
    "        os._exit(0)\n"
    "    time.sleep(0.1)\n"
    "    os._exit(0)\n"
    "os.wait()\n"
    "time.sleep(600)"
)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets a process adopt orphans")
def test_the_first_process_of_a_container_waits_for_orphans_beside_its_own(start: Start) -> None:
    groups = [["leaves", LEAVES_ORPHANS, "orphan"]], [["dies", DIES, "dies"]]
    supervised = start(*groups, adopts_orphans=True)
    (orphan,) = supervised.pids("orphan")
    eventually(lambda: not Path(f"/proc/{orphan}").exists())
    (supervised.where / "started").touch()
    file = supervised.where / "dies"
    eventually(lambda: file.exists() and file.read_text().count("1") >= 2)
    assert supervised.stop() == 0


def test_what_a_process_tells_is_shown_in_the_terminal(start: Start) -> None:
    supervised = start([["tells", TELLS, None]])
    supervised.wait_until_ready()
    assert supervised.process.stderr is not None
    assert supervised.process.stderr.readline() == "something to know\n"
    assert supervised.stop() == 0


def test_a_process_that_refuses_to_start_says_why_in_one_line(start: Start) -> None:
    refuses = "import sys; print('before'); print('not like this'); sys.exit(3)"
    supervised = start([stays("a")], [["refuses", refuses, "never"]])
    assert supervised.process.wait(DEADLINE) == 1
    assert supervised.process.stderr is not None
    error_output = supervised.process.stderr.read()
    assert error_output.rstrip().endswith("not like this")
    assert "before" not in error_output
    assert "ended with status" not in error_output


def test_a_failed_start_shows_the_last_lines_and_stops_the_rest(start: Start) -> None:
    fails = "import sys; [print('line', i, flush=True) for i in range(50)]; sys.exit('no luck')"
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


def test_a_process_that_works_may_take_longer_than_the_patience(start: Start) -> None:
    works = (
        "import time\n"
        "end = time.process_time() + 1.5\n"
        "while time.process_time() < end: sum(range(10_000))\n"
        "open('works', 'w'); time.sleep(600)"
    )
    supervised = start([["works", works, "works"]], patience=0.5)
    supervised.wait_until_ready()
    assert supervised.stop() == 0


def test_a_second_signal_ends_the_wait(start: Start) -> None:
    supervised = start([["stubborn", STUBBORN, "stubborn"]], grace=300)
    supervised.wait_until_ready()
    supervised.process.send_signal(signal.SIGINT)
    assert supervised.process.stderr is not None
    assert "Waiting for stubborn" in supervised.process.stderr.readline()
    assert supervised.stop(signal.SIGINT) == 0


def test_the_running_processes_are_remembered_until_they_have_ended(start: Start) -> None:
    supervised = start([stays("a")])
    supervised.wait_until_ready()
    (first,) = supervised.pids("a")
    path = supervised.where / "pids"
    assert set(json.loads(path.read_text())) == {str(first)}
    os.kill(first, signal.SIGKILL)
    second = supervised.pids("a", 2)[1]
    eventually(lambda: set(json.loads(path.read_text())) == {str(second)})
    supervised.stop()
    assert not path.exists()


def test_a_command_that_fails_is_a_failed_start_and_one_that_succeeds_is_not_restarted(
    start: Start,
) -> None:
    once = ["once", "open('once', 'a').write('1\\n')", None]
    supervised = start(runs=[once, ["fails", "raise SystemExit(4)", None]])
    assert supervised.process.wait(DEADLINE) == 1
    assert supervised.process.stderr is not None
    assert "fails ended with status 4" in supervised.process.stderr.read()
    assert (supervised.where / "once").read_text() == "1\n"


class FakeChild:
    """A child that has always ended; it records the times of its restarts."""

    def __init__(self, clock: list[float]) -> None:
        self.clock = clock
        self.pid = os.getpid()
        self.starts: list[float] = []
        self.process = type("Named", (), {"name": "fake"})
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
    watched = _Watched(child, print)  # type: ignore[arg-type]
    for _ in range(8):
        clock[0] += watched.revive()
        watched.revive()
    gaps = [round(b - a, 1) for a, b in zip([100.0, *child.starts], child.starts, strict=False)]
    assert gaps == [0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0, 5.0]
    clock[0] += 10.5
    assert watched.revive() == pytest.approx(0.2)
