"""Test how the process of the local DNS server ends."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.unit.infrastructure.clouds import DEADLINE, ROOT

# The server is replaced by one that gets the signals as soon as it answers
PROGRAM = """
from types import SimpleNamespace
from infrastructure.local.dns import __main__ as program
from tests.unit import second_signal
server = SimpleNamespace(start=second_signal.stop, stop=lambda: print("stopped"))
program.DnsServer = lambda *_: server
program.main()
"""


def test_two_signals_at_once_stop_the_server(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PROGRAM, "--port", "0", "--data", str(tmp_path)]
    process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=DEADLINE)
    assert (process.returncode, process.stdout, process.stderr) == (0, "stopped\n", "")
