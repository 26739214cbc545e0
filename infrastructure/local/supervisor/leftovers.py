"""End what an earlier supervisor has left running: it was killed, and its processes live on.

The supervisor keeps the ids of its processes in a file. On Linux the kernel ends them with their
supervisor, but that may take a moment, and the local cloud may still be saving its state.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

# For the local cloud to save its state
PATIENCE = 60.0
_POLL = 0.05


def remember(path: Path, pids: Iterable[int]) -> None:
    """Write the running processes to ``path``, for the next start, unless the disk is full."""
    new = path.with_suffix(".new")
    with suppress(OSError):
        new.write_text(json.dumps({str(pid): started_at(pid) for pid in pids}))
        new.replace(path)


def end(path: Path) -> int:
    """End the processes that ``path`` names; return how many still ran."""
    leftovers = {pid for pid, started in _read(path).items() if started == started_at(pid) != ""}
    for number, patience in ((signal.SIGTERM, PATIENCE), (signal.SIGKILL, PATIENCE)):
        living = {pid for pid in leftovers if _signal(pid, number)}
        deadline = time.monotonic() + patience
        while living and time.monotonic() < deadline:
            time.sleep(_POLL)
            living = {pid for pid in living if started_at(pid)}
        if not living:
            break
    path.unlink(missing_ok=True)
    return len(leftovers)


def started_at(pid: int) -> str:
    """Return when a process was started, in the system's own form; empty if it does not run.

    Together with the id it names a process, because ids are used again.
    """
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return "" if fields[0] == "Z" else fields[19]
    except FileNotFoundError:
        if Path("/proc/self/stat").exists():
            return ""
    except (OSError, IndexError):
        return ""
    command = ("ps", "-o", "lstart=", "-p", str(pid))
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def _read(path: Path) -> Mapping[int, str]:
    try:
        return {int(pid): str(started) for pid, started in json.loads(path.read_text()).items()}
    except (OSError, ValueError, AttributeError):  # none, or torn: nothing is ended on a guess
        return {}


def _signal(pid: int, number: signal.Signals) -> bool:
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True
