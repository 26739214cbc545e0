"""Start processes in order, keep them running, and stop them in the opposite order.

A process that ends is started again after 0.2 seconds, then after twice as long each time up to
five, and after 0.2 again once it has run for ten. When a *foundation* ends, all that was started
later is killed and started again with it, because the foundation has forgotten its latest work and
the others would go on from there. SIGTERM, SIGINT and SIGHUP ask the supervisor to stop. Each group
of processes that was started together then gets SIGTERM and, ``grace`` seconds later, SIGKILL; the
last group goes first.

The supervisor must run in the main thread, and children must not be started elsewhere: the kernel
takes the end of the starting thread for the end of the parent.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from pathlib import Path
from types import FrameType, TracebackType

from infrastructure.local.supervisor.child import Child, Process

GRACE = 2.8
FIRST_PAUSE = 0.2
LONGEST_PAUSE = 5.0
HEALTHY_AFTER = 10.0
POLL = 0.02
SHOWN_LINES = 20

_STOPPING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class StartFailed(RuntimeError):
    """A process ended, or did not become ready in time; the message holds its last words."""


class StopRequested(Exception):
    """A signal asked the supervisor to stop while it was starting."""


class _Watched:
    """A child with what is needed to restart it at the right time."""

    def __init__(self, child: Child) -> None:
        self.child = child
        self._started = time.monotonic()
        self._pause = FIRST_PAUSE
        self._due: float | None = None

    @property
    def has_fallen(self) -> bool:
        """Tell whether the child has ended and nothing was done about it."""
        return self._due is None and self.child.status() is not None

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
            print(
                f"{name} ended with status {status} and is started again ({self.child.log})",
                file=sys.stderr,
                flush=True,
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

    Logs go to ``logs``; processes run in ``directory``.
    """

    def __init__(self, logs: Path, directory: Path, grace: float = GRACE) -> None:
        self._logs = logs
        self._directory = directory
        self._grace = grace
        self._groups: list[list[_Watched]] = []
        self._stop_requested = False
        logs.mkdir(parents=True, exist_ok=True)

    def __enter__(self) -> Supervisor:
        self._wakeup, self._signalled = os.pipe()
        for end in (self._wakeup, self._signalled):
            os.set_blocking(end, False)
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

    def run(self, process: Process, meanwhile: Callable[[], None] = _nothing) -> None:
        """Run ``process`` to its end; raises :class:`StartFailed` unless it ends with status 0.

        ``meanwhile`` is work of this process that need not wait for it.
        """
        watched = self._spawn([process])[0]
        deadline = time.monotonic() + process.patience
        meanwhile()
        while (status := watched.child.status()) is None:
            self._go_on_starting()
            if time.monotonic() > deadline:
                raise StartFailed(_last_words(watched.child, "did not finish in time"))
        self._groups.pop()
        if status != 0:
            raise StartFailed(_last_words(watched.child, f"ended with status {status}"))

    def start(self, *processes: Process, meanwhile: Callable[[], None] = _nothing) -> None:
        """Start ``processes`` together; return when all are ready or raise :class:`StartFailed`.

        ``meanwhile`` is work of this process that need not wait for them.
        """
        not_ready = self._spawn(processes)
        started = time.monotonic()
        meanwhile()
        while not_ready := [
            watched for watched in not_ready if not _is_ready(watched.child, started)
        ]:
            self._go_on_starting()

    def watch(self) -> None:
        """Restart what ends, until a signal asks to stop."""
        while not self._stop_requested:
            self._pause(_revive(self._groups))

    def stop(self) -> None:
        """Stop every process, the last started group first; return when all are gone."""
        while self._groups:
            group = [watched.child for watched in self._groups.pop()]
            for child in group:
                child.terminate()
            deadline = time.monotonic() + self._grace
            while any(child.status() is None for child in group):
                if time.monotonic() > deadline:
                    break
                self._pause(POLL)
            for child in group:
                child.kill()

    def _spawn(self, processes: Iterable[Process]) -> list[_Watched]:
        group: list[_Watched] = []
        self._groups.append(group)
        for process in processes:
            group.append(_Watched(Child(process, self._logs, self._directory)))
        return list(group)

    def _go_on_starting(self) -> None:
        if self._stop_requested:
            raise StopRequested
        _revive(self._groups[:-1])
        self._pause(POLL)

    def _pause(self, seconds: float) -> None:
        """Sleep, but not past a signal: the end of a child and the wish to stop are signals."""
        readable, _, _ = select.select([self._wakeup], [], [], seconds)
        if readable:
            os.read(self._wakeup, 4096)

    def _request_stop(self, number: int, frame: FrameType | None) -> None:
        self._stop_requested = True


def _revive(groups: Sequence[Sequence[_Watched]]) -> float:
    """Restart what ended and whose pause is over; return seconds until there is more to do."""
    for place, group in enumerate(groups):
        if any(each.child.process.foundation and each.has_fallen for each in group):
            for later in chain.from_iterable(groups[place + 1 :]):
                later.child.kill()
    return min((each.revive() for group in groups for each in group), default=HEALTHY_AFTER)


def _is_ready(child: Child, started: float) -> bool:
    status = child.status()
    if status is not None:
        raise StartFailed(_last_words(child, f"ended with status {status}"))
    if child.process.ready is None or child.process.ready():
        return True
    if time.monotonic() > started + child.process.patience:
        raise StartFailed(_last_words(child, "was not ready in time"))
    return False


def _last_words(child: Child, what: str) -> str:
    lines = child.last_lines(SHOWN_LINES)
    return f"{child.process.name} {what}; its last output ({child.log}):\n{lines}"
