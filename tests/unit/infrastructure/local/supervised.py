"""Run a supervisor in a separate process, with the small programs that a test defines."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.unit.infrastructure.clouds import DEADLINE, ROOT, eventually

# Reads its instructions from argv: a list of groups of processes, each [name, program, ready file].
SUPERVISOR = """
import ctypes, json, os, signal, sys
from pathlib import Path
from infrastructure.local.supervisor.child import Process
from infrastructure.local.supervisor.processes import StartFailed, StopRequested, Supervisor
where, config = Path(sys.argv[1]), json.loads(sys.argv[2])
adopts = config["adopts_orphans"]
if adopts:  # PR_SET_CHILD_SUBREAPER, as the first process of a container is
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup, under which tests may run, ignores it
def process(name, program, ready):
    probe = (where / ready).exists if ready else None
    argv = ("-S", "-c", program)
    environment, patience, grace = dict(os.environ), config["patience"], config["grace"]
    return Process(name, argv, environment, probe, patience, grace)
with Supervisor(where / "logs", where, where / "pids", adopts_orphans=adopts) as supervisor:
    try:
        for group in config["groups"]:
            supervisor.start(*(process(*each) for each in group))
        for each in config["runs"]:
            supervisor.run(process(*each))
    except StartFailed as failure:
        print(failure, file=sys.stderr)
        sys.exit(1)
    except StopRequested:
        sys.exit(0)
    print("ready", flush=True)
    supervisor.watch()
"""

# A program that appends its process id to a file at each start, and then keeps running.
STAYS = "import os, time; open('{0}', 'a').write(f'{{os.getpid()}}\\n'); time.sleep(600)"


class Supervised:
    """The supervisor, whose programs write their process ids to the directory ``where``."""

    def __init__(
        self,
        where: Path,
        *groups: list[list[Any]],
        runs: list[list[Any]] | None = None,
        grace: float = 2.8,
        patience: float = 10.0,
        adopts_orphans: bool = False,
    ) -> None:
        self.where = where
        config = {
            "groups": groups,
            "runs": runs or [],
            "grace": grace,
            "patience": patience,
            "adopts_orphans": adopts_orphans,
        }
        self.process = subprocess.Popen(
            [sys.executable, "-c", SUPERVISOR, str(where), json.dumps(config)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def wait_until_ready(self) -> None:
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "ready\n"

    def pids(self, name: str, starts: int = 1) -> list[int]:
        """Wait for ``starts`` starts of a program; return their process ids."""
        path = self.where / name
        eventually(lambda: path.exists() and path.read_text().count("\n") >= starts)
        return [int(line) for line in path.read_text().split()]

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(DEADLINE)

    def close(self) -> None:
        if self.process.poll() is None:
            self.stop(signal.SIGKILL)
        for stream in (self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()


def is_alive(pid: int) -> bool:
    """Return whether the process runs; a zombie does not."""
    try:
        os.kill(pid, 0)
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (ProcessLookupError, FileNotFoundError):
        return False
    return state != "Z"
