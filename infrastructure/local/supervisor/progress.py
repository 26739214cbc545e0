"""Tell a process that works from one that hangs, by the processor time that it uses."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

_PROC = Path("/proc")
# Running or waiting for a processor; waiting for a disk
_BUSY = ("R", "D")


class Progress:
    """Whether a process has made progress since the last look.

    Where the system does not tell (``/proc`` is Linux only), none is ever seen.
    """

    def __init__(self, pid: int, proc: Path = _PROC) -> None:
        self._stat = proc / str(pid) / "stat"
        self._ticks = -1
        self._since = time.monotonic()

    def idle_seconds(self) -> float:
        """Return for how long the process has used no processor and waited for no disk."""
        now = time.monotonic()
        with suppress(OSError):
            # The name of the program, in brackets, may have any characters (proc(5))
            fields = self._stat.read_text().rpartition(")")[2].split()
            ticks = int(fields[11]) + int(fields[12])
            if fields[0] in _BUSY or ticks != self._ticks:
                self._ticks, self._since = ticks, now
        return now - self._since
