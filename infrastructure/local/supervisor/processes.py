"""Start processes in order, keep them running, and stop them in the opposite order.

A process that ends is started again after 0.2 seconds, then after twice as long each time up to
five, and after 0.2 again once it has run for ten. SIGTERM, SIGINT and SIGHUP ask the supervisor to
stop. Each group of processes that was started together then gets SIGTERM and, ``grace`` seconds
later, SIGKILL; the last group goes first. A second signal ends the grace. Lines for the user (see
`notices`) are shown meanwhile.

The supervisor must run in the main thread, and children must not be started elsewhere: the kernel
takes the end of the starting thread for the end of the parent.
"""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from types import FrameType, TracebackType

from infrastructure.local import notices
from infrastructure.local.notices import Notices
from infrastructure.local.supervisor import leftovers
from infrastructure.local.supervisor.child import Child, Process
from infrastructure.local.supervisor.progress import Progress

FIRST_PAUSE = 0.2
LONGEST_PAUSE = 5.0
HEALTHY_AFTER = 10.0
POLL = 0.02
# Between two looks at a process that takes long to start or to end
LONGEST_POLL = 0.2
# A process that works may take this long to start
LONGEST_START = 900.0
TELL_AFTER = 3.0
SHOWN_LINES = 20

_STOPPING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class StartFailed(RuntimeError):
    """A process ended, or did not become ready in time; the message holds its last words."""


class StopRequested(Exception):
    """A signal asked the supervisor to stop while it was starting."""


class _Watched:
    """A child with what is needed to restart it at the right time."""

    def __init__(self, child: Child, report: Callable[[str], None]) -> None:
        self.child = child
        self._report = report
        self._started = time.monotonic()
        self._pause = FIRST_PAUSE
        self._due: float | None = None
        self._progress = Progress(child.pid)

    def require_patience(self, what: str) -> None:
        """Raise :class:`StartFailed` if the child hangs, or has worked for too long."""
        is_over = time.monotonic() - self._started > LONGEST_START
        if is_over or self._progress.idle_seconds() > self.child.process.patience:
            raise StartFailed(_last_words(self.child, what))

    def revive(self) -> float:
        """Restart the child if it ended and its pause is over; return seconds until then."""
        now = time.monotonic()
        status = self.child.status()
        if status is None:
            return HEALTHY_AFTER
        if self._due is None:
            if now - self._started >= HEALTHY_AFTER:
                self._pause = FIRST_PAUSE
            self._due = now + self._pause
            name = self.child.process.name
            self._report(
                f"{name} ended with status {status} and is started again ({self.child.log})"
            )
        if now < self._due:
            return self._due - now
        self._due, self._started = None, now
        self._pause = min(LONGEST_PAUSE, self._pause * 2)
        self.child.restart()
        return HEALTHY_AFTER


def _nothing() -> None:
    """Do nothing."""


class Supervisor:
    """A context manager: leaving it stops whatever was started in it.

    Logs go to ``logs``, or to the descriptor ``output``; processes run in ``directory``. The ids of
    the running processes are kept in ``pids``, for a start after this process was killed
    (:mod:`leftovers`). Lines for the user go to ``report``.

    The first process of a container inherits the processes whose parents ended
    (``adopts_orphans``), and waits for them as well.
    """

    def __init__(
        self,
        logs: Path,
        directory: Path,
        pids: Path,
        *,
        output: int | None = None,
        adopts_orphans: bool = os.getpid() == 1,
        report: Callable[[str], None] = notices.print_line,
    ) -> None:
        self._logs = logs
        self._output = output
        self._adopts_orphans = adopts_orphans
        self._report = report
        self._directory = directory
        self._pids = pids
        self._groups: list[list[_Watched]] = []
        self._stop_requests = 0
        logs.mkdir(parents=True, exist_ok=True)

    def __enter__(self) -> Supervisor:
        self._wakeup, self._signalled = os.pipe()
        for end in (self._wakeup, self._signalled):
            os.set_blocking(end, False)
        self._notices = Notices(self._pids.with_name(notices.PIPE), self._report)
        signal.set_wakeup_fd(self._signalled, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        for number in _STOPPING:
            # nohup ignores SIGHUP; that wish is kept.
            if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, self._request_stop)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()
        self._notices.close()

    def run(self, process: Process, meanwhile: Callable[[], None] = _nothing) -> None:
        """Run ``process`` to its end; raises :class:`StartFailed` unless it ends with status 0.

        ``meanwhile`` is work of this process that need not wait for it.
        """
        watched = self._spawn([process])[0]
        meanwhile()
        while (status := watched.child.status()) is None:
            self._go_on_starting(POLL)
            watched.require_patience("did not finish in time")
        self._groups.pop()
        if status != 0:
            raise StartFailed(_end(watched.child, status))

    def start(self, *processes: Process, meanwhile: Callable[[], None] = _nothing) -> None:
        """Start ``processes`` together; return when all are ready or raise :class:`StartFailed`.

        ``meanwhile`` is work of this process that need not wait for them.
        """
        not_ready = self._spawn(processes)
        meanwhile()
        poll = POLL
        while not_ready := [watched for watched in not_ready if not _is_ready(watched)]:
            self._go_on_starting(poll)
            poll = min(LONGEST_POLL, poll * 1.1)

    def watch(self) -> None:
        """Restart what ends, until a signal asks to stop."""
        while not self._stop_requests:
            self._pause(self._revive(self._groups))

    def stop(self) -> None:
        """Stop every process, the last started group first; return when all are gone."""
        while self._groups:
            group = [watched.child for watched in self._groups[-1]]
            for child in group:
                child.terminate()
            self._wait_for_ends(group)
            for child in group:
                child.kill()
            self._groups.pop()
        self._pids.unlink(missing_ok=True)

    def _wait_for_ends(self, group: Sequence[Child]) -> None:
        """Wait until all have ended, for as long as each may take."""
        started, requests, poll = time.monotonic(), self._stop_requests, POLL
        is_told = False
        while living := [child for child in group if child.status() is None]:
            waited = time.monotonic() - started
            if waited > max(child.process.grace for child in living):
                return
            if self._stop_requests > max(requests, 1):
                return
            if waited > TELL_AFTER and not is_told:
                names = ", ".join(child.process.name for child in living)
                self._report(f"Waiting for {names} to finish; Ctrl-C again ends it now.")
                is_told = True
            self._pause(poll)
            poll = min(LONGEST_POLL, poll * 1.1)

    def _spawn(self, processes: Iterable[Process]) -> list[_Watched]:
        group: list[_Watched] = []
        self._groups.append(group)
        for process in processes:
            child = Child(process, self._logs, self._directory, self._output)
            group.append(_Watched(child, self._report))
        self._remember()
        return list(group)

    def _remember(self) -> None:
        leftovers.remember(self._pids, [each.child.pid for each in chain(*self._groups)])

    def _go_on_starting(self, poll: float) -> None:
        if self._stop_requests:
            raise StopRequested
        self._revive(self._groups[:-1])
        self._pause(poll)

    def _revive(self, groups: Sequence[Sequence[_Watched]]) -> float:
        """Restart what ended and whose pause is over; return seconds until there is more to do."""
        pids = [each.child.pid for each in chain(*groups)]
        pause = min((each.revive() for group in groups for each in group), default=HEALTHY_AFTER)
        if pids != [each.child.pid for each in chain(*groups)]:
            self._remember()
        return pause

    def _pause(self, seconds: float) -> None:
        """Sleep, but not past a signal: the end of a child and the wish to stop are signals."""
        pipes = [self._wakeup, self._notices.descriptor]
        readable, _, _ = select.select(pipes, [], [], seconds)
        if self._wakeup in readable:
            os.read(self._wakeup, 4096)
            if self._adopts_orphans:
                self._wait_for_orphans()
        self._notices.show()

    def _wait_for_orphans(self) -> None:
        """Let the system forget the ended processes that are nobody's children any more."""
        own = {each.child.pid for each in chain(*self._groups) if each.child.status() is None}
        with suppress(ChildProcessError):  # there are no processes at all
            while ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                if ended.si_pid in own:  # a moment ago: its signal brings us here again
                    return
                os.waitpid(ended.si_pid, 0)

    def _request_stop(self, number: int, frame: FrameType | None) -> None:
        self._stop_requests += 1


def _is_ready(watched: _Watched) -> bool:
    child = watched.child
    status = child.status()
    if status is not None:
        raise StartFailed(_end(child, status))
    if child.process.ready is None or child.process.ready():
        return True
    watched.require_patience("was not ready in time")
    return False


def _end(child: Child, status: int) -> str:
    """Return why a process ended that should not have ended."""
    if status == notices.REFUSED:
        # Without a file of its own it has said why to the user
        return child.last_lines(1)
    return _last_words(child, f"ended with status {status}")


def _last_words(child: Child, what: str) -> str:
    lines = child.last_lines(SHOWN_LINES)
    return f"{child.process.name} {what}; its last output ({child.log}):\n{lines}"
