"""Test how a delivery process ends."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.unit.infrastructure.clouds import DEADLINE, ROOT

# One consumer, which consumes nothing, and does what the test says when it is started
PROGRAM = """
import os, signal
from types import SimpleNamespace
from outbound import delivery_process
from tests.unit import second_signal
reading, writing = os.pipe()
consumer = SimpleNamespace(start=lambda: {start}, finish=lambda: print("finished", flush=True))
delivery_process._consumers = lambda number: [consumer]
delivery_process.run(0, reading)
"""


def run(start: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", PROGRAM.format(start=start)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=DEADLINE)


@pytest.mark.parametrize(
    "start",
    [
        "os.kill(os.getpid(), signal.SIGTERM)",
        "os.kill(os.getpid(), signal.SIGINT)",
        "second_signal.stop()",
        "os.close(writing)",
    ],
    ids=["terminated", "interrupted", "by two signals at once", "without supervisor"],
)
def test_a_process_that_is_stopped_finishes_what_it_consumes(start: str) -> None:
    process = run(start)
    assert (process.returncode, process.stdout, process.stderr) == (0, "finished\n", "")
