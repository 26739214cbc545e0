from __future__ import annotations

import subprocess
import sys

from tests.unit.infrastructure.clouds import ROOT

# The service is replaced by one that is stopped while it is being imported
STOPPED_EARLY = """
import os, signal, sys, time, types
from infrastructure.local import container
def main(arguments):
    assert arguments == []
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(600)
sys.modules["infrastructure.local.run"] = types.SimpleNamespace(main=main)
container.main()
"""


def test_a_stop_before_the_supervisor_has_its_handlers_ends_with_status_zero() -> None:
    command = [sys.executable, "-c", STOPPED_EARLY]
    process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert (process.returncode, process.stderr) == (0, "")
