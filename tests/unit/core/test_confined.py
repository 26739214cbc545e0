"""A function in a child process cannot end, block or outlive the process that calls it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from chalicelib.core import confined
from chalicelib.core.confined import Confined, Died, FunctionFault
from tests.unit.core import confined_functions
from tests.unit.infrastructure.clouds import eventually

ROOT = Path(__file__).parents[3]
MEMORY = 512 * 1024 * 1024


@pytest.fixture
def call() -> Confined:
    return Confined(confined_functions.act, memory=MEMORY, seconds=0.2)


def test_the_result_is_that_of_the_function(call: Confined) -> None:
    assert call(b"length abc") == b"3"
    assert call(b"length " + b"x" * 5_000_000) == b"5000000"


def test_calls_one_after_the_other_share_a_child(call: Confined) -> None:
    children = {call(b"pid") for _ in range(5)}
    assert len(children) == 1
    assert children != {str(os.getpid()).encode()}


def test_calls_at_the_same_time_have_a_child_each(call: Confined) -> None:
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(call, [b"length x"] * 40))
    assert 1 <= len(call._idle) <= 4


@pytest.mark.parametrize(
    ("argument", "reason"),
    [
        (f"kill {signal.SIGSEGV:d}", "nested too deeply"),
        ("recurse", "nested too deeply"),
        (f"kill {signal.SIGABRT:d}", "too much memory"),
        ("allocate", "too much memory"),
        ("compute", "too much work"),
    ],
)
def test_the_death_of_a_child_is_a_value_and_the_next_call_has_another_child(
    call: Confined, argument: str, reason: str
) -> None:
    child = call(b"pid")
    with pytest.raises(Died, match=reason):
        call(argument.encode())
    assert call(b"pid") != child


def test_a_larger_argument_may_take_more_work() -> None:
    call = Confined(confined_functions.act, memory=MEMORY, seconds=0.0, per_megabyte=0.1)
    assert call(b"length " + b"x" * 2_000_000) == b"2000000"
    with pytest.raises(Died, match="too much work"):
        call(b"compute")


def test_a_child_that_does_not_answer_is_killed(
    call: Confined, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(confined, "LONGEST_WAIT", 0.05)
    monkeypatch.setattr(confined, "_LAST_SECONDS", 0.05)
    with pytest.raises(Died, match="too much work"):
        call(f"kill {signal.SIGSTOP:d}".encode())


def test_a_child_that_was_killed_from_outside_is_replaced(call: Confined) -> None:
    child = int(call(b"pid"))
    os.kill(child, signal.SIGKILL)
    assert int(call(b"pid")) != child


def test_a_call_whose_children_are_killed_is_given_up(call: Confined) -> None:
    with pytest.raises(Died, match="killed twice"):
        call(f"kill {signal.SIGKILL:d}".encode())


def test_a_refusal_of_the_function_is_raised_here(call: Confined) -> None:
    child = call(b"pid")
    with pytest.raises(ValueError, match=r"^no é$"):
        call("refuse no é".encode())
    assert call(b"pid") == child


@pytest.mark.parametrize("argument", ["fail now", "exit 3"])
def test_a_fault_of_the_function_is_ours_and_no_death(call: Confined, argument: str) -> None:
    with pytest.raises(FunctionFault, match=r"KeyError: 'now'|status 3"):
        call(argument.encode())
    assert call(b"length x") == b"1"


def test_a_fork_uses_no_child_of_its_parent(call: Confined) -> None:
    child = call(b"pid")
    reading, writing = os.pipe()
    fork = os.fork()
    if not fork:
        os.write(writing, call(b"pid"))
        os._exit(0)
    os.waitpid(fork, 0)
    assert os.read(reading, 100) != child
    assert call(b"pid") == child


_CALLER = """
import sys, os, signal
from chalicelib.core.confined import Confined
from tests.unit.core import confined_functions
call = Confined(confined_functions.act, memory=512 * 1024 * 1024, seconds=0.2)
print(call(b"pid").decode(), flush=True)
{then}
"""


@pytest.mark.parametrize(
    "then", ["os.kill(os.getpid(), signal.SIGKILL)", "call(b'compute')", "os._exit(0)", ""]
)
def test_no_child_outlives_its_parent(then: str) -> None:
    caller = subprocess.Popen(
        [sys.executable, "-c", _CALLER.format(then=then)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    output, _ = caller.communicate(timeout=60)
    child = int(output.split()[0])
    assert eventually(lambda: _has_ended(child))


def test_a_child_that_computes_when_its_parent_is_killed_ends_at_its_limit() -> None:
    then = "\n".join(
        [
            "import threading, time",
            "threading.Thread(target=lambda: call(b'compute'), daemon=True).start()",
            "time.sleep(0.02)",
            "os.kill(os.getpid(), signal.SIGKILL)",
        ]
    )
    test_no_child_outlives_its_parent(then)


def test_who_only_imports_a_confined_function_starts_no_process() -> None:
    script = "import chalicelib.generation.css, sys; sys.exit('css_inline' in sys.modules)"
    subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=True)
    call = Confined(confined_functions.act, memory=MEMORY, seconds=0.2)
    assert not call._idle


def _has_ended(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True
