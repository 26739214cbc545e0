"""Run the same work in several processes, and supervise them.

The supervisor restarts a process that ends, passes SIGTERM and SIGINT on, and returns when all have
ended. If the supervisor dies, the other processes notice it by their lifeline.
"""

from __future__ import annotations

import contextlib
import logging
import os
import select
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType

_log = logging.getLogger(__name__)

# Before a process that ended is restarted.
_PAUSE_SECONDS = 1.0
_STOPPING = (signal.SIGTERM, signal.SIGINT)
# cgroup v2: the microseconds of processor time a period, or "max"; and the period
_QUOTA = Path("/sys/fs/cgroup/cpu.max")

Work = Callable[[int, int], None]
"""Works until SIGTERM; is called with the number of its process and its lifeline.

The lifeline is a descriptor that can be read (at its end) once the supervisor has died.
"""


def usable_cores(quota_file: Path = _QUOTA) -> int:
    """Return how many cores this process may use: the container's quota or all, at least one."""
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:  # not on macOS
        cores = os.cpu_count() or 1
    try:
        quota, period = quota_file.read_text().split()
        return max(1, min(cores, -(-int(quota) // int(period))))
    except (OSError, ValueError):  # no such file, or no quota
        return cores


class ProcessGroup:
    """The process that starts and restarts ``processes`` others, which are called ``name``."""

    def __init__(self, name: str, processes: int, work: Work) -> None:
        self._name = name
        self._work = work
        # The number of each process by its id
        self._children: dict[int, int] = {}
        # When each missing process is to be started, by its number
        self._due = dict.fromkeys(range(processes), 0.0)
        self._stopping = False
        # The other end closes with this process, whatever ends it.
        self._lifeline, self._own_end = os.pipe()
        self._woken, self._signalled = os.pipe()

    def run(self) -> None:
        """Work until SIGTERM or SIGINT; return when all processes have ended."""
        for end in (self._woken, self._signalled):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(self._signalled, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        for number in _STOPPING:
            signal.signal(number, self._stop)
        while self._children or not self._stopping:
            self._start_due_processes()
            select.select([self._woken], [], [], self._seconds_to_next_start())
            self._collect_ended_processes()

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self._stopping = True
        self._due.clear()
        for child in self._children:
            os.kill(child, signal.SIGTERM)

    def _start_due_processes(self) -> None:
        now = time.monotonic()
        for number in [number for number, due in self._due.items() if due <= now]:
            # A signal comes before the start, or finds the child among the children.
            signal.pthread_sigmask(signal.SIG_BLOCK, _STOPPING)
            if not self._stopping:
                del self._due[number]
                self._children[self._fork(number)] = number
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOPPING)

    def _seconds_to_next_start(self) -> float | None:
        return max(0.0, min(self._due.values()) - time.monotonic()) if self._due else None

    def _collect_ended_processes(self) -> None:
        with contextlib.suppress(BlockingIOError):
            os.read(self._woken, 4096)
        for child in tuple(self._children):
            ended, status = os.waitpid(child, os.WNOHANG)
            if not ended:
                continue
            number = self._children.pop(child)
            if not self._stopping:
                code = os.waitstatus_to_exitcode(status)
                fields = {"process_id": child, "status": code}
                _log.error("%s process ended", self._name, extra=fields)
                self._due[number] = time.monotonic() + _PAUSE_SECONDS

    def _fork(self, number: int) -> int:
        child = os.fork()
        if child:
            return child
        status = 1
        try:
            self._work_in_child(number)
            status = 0
        except SystemExit:
            status = 0
        except BaseException:
            _log.exception("%s process failed", self._name)
        finally:
            sys.stdout.flush()
            os._exit(status)

    def _work_in_child(self, number: int) -> None:
        """Work in a child, without the supervisor's signal handlers and its end of the pipe."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for each in _STOPPING:
            # Until the work handles it.
            signal.signal(each, lambda number, frame: sys.exit())
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOPPING)
        os.close(self._own_end)
        self._work(number, self._lifeline)
