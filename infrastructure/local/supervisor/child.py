"""Start, watch and end one child process of the supervisor.

A child is the leader of its own session, so that Ctrl-C in a terminal reaches the supervisor only,
and all that the child started can be killed with it. If the supervisor ends without stopping it,
the Linux kernel signals the child, so that even SIGKILL leaves no process behind.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from infrastructure.local.supervisor import forks
from infrastructure.local.supervisor.forks import ForkedModule

LOG_LIMIT = 10 * 1024 * 1024
PATIENCE = 15.0
GRACE = 10.0
_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None) if sys.platform == "linux" else None


@dataclass(frozen=True, slots=True)
class Process:
    """A program to run: ``arguments`` are what follows ``python`` on the command line.

    A module (``-m``) runs in a fork where the system allows it (see `forks`).

    ``ready`` is called again and again until it returns true: the process serves. ``patience`` is
    for how many seconds a process that starts may do nothing (:mod:`progress`), ``grace`` how many
    one may take to end. The kernel sends ``orphan_signal`` when the supervisor is gone. The process
    gets the ``descriptors`` of the supervisor, under the same numbers.
    """

    name: str
    arguments: Sequence[str]
    environment: Mapping[str, str]
    ready: Callable[[], bool] | None = None
    patience: float = PATIENCE
    grace: float = GRACE
    orphan_signal: signal.Signals = signal.SIGKILL
    descriptors: Sequence[int] = ()


def module_process(
    environment: Mapping[str, str],
    name: str,
    module: str,
    *arguments: str,
    ready: Callable[[], bool] | None = None,
    patience: float = PATIENCE,
    grace: float = GRACE,
    orphan_signal: signal.Signals = signal.SIGKILL,
    descriptors: Sequence[int] = (),
) -> Process:
    """Return the process that runs ``python -m module`` with these arguments."""
    return Process(
        name=name,
        arguments=("-m", module, *arguments),
        environment=environment,
        ready=ready,
        patience=patience,
        grace=grace,
        orphan_signal=orphan_signal,
        descriptors=descriptors,
    )


def die_with_parent(number: signal.Signals, parent: int) -> None:
    """Have this process signalled when its parent, of process id ``parent``, ends (Linux only)."""
    if _libc is None:
        return
    _libc.prctl(_PR_SET_PDEATHSIG, int(number), 0, 0, 0)
    if os.getppid() != parent:
        os.kill(os.getpid(), number)


class Child:
    """A running :class:`Process`; its output is appended to ``<logs>/<name>.log``.

    With ``output``, a descriptor, it goes there instead.
    """

    def __init__(
        self, process: Process, logs: Path, directory: Path, output: int | None = None
    ) -> None:
        self.process = process
        self._log = logs / f"{process.name}.log"
        self._directory = directory
        self._output = output
        self._running = self._spawn()

    @property
    def pid(self) -> int:
        """The process id."""
        assert self._running.pid is not None
        return self._running.pid

    def restart(self) -> None:
        """Start the process again after it has ended."""
        self._running = self._spawn()

    def status(self) -> int | None:
        """Return the exit status (negative for a signal), or ``None`` while it runs."""
        return self._running.poll()

    def terminate(self) -> None:
        """Ask the process to end."""
        if self._running.poll() is None:
            self._running.terminate()

    def kill(self) -> None:
        """Kill whatever is left of the process and of those it started."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        # Which is not the leader of its group yet if it was started a moment ago
        self._running.kill()
        self._running.wait()

    def last_lines(self, count: int) -> str:
        """Return the last ``count`` lines that it wrote to its log."""
        if self._output is not None:
            return ""
        return "\n".join(self._log.read_text(errors="replace").splitlines()[-count:])

    @property
    def log(self) -> str:
        """Where its output is, for the user."""
        return "above" if self._output is not None else str(self._log)

    def _open_output(self) -> BinaryIO:
        if self._output is not None:
            return os.fdopen(os.dup(self._output), "ab")
        if self._log.exists() and self._log.stat().st_size > LOG_LIMIT:
            self._log.replace(self._log.with_suffix(".log.1"))
        return self._log.open("ab")

    def _spawn(self) -> subprocess.Popen[bytes] | ForkedModule:
        number, supervisor = self.process.orphan_signal, os.getpid()

        def become_child() -> None:
            die_with_parent(number, supervisor)

        option, *module = self.process.arguments
        with self._open_output() as log:
            if forks.FORKS and option == "-m":
                process, environment = self.process, self.process.environment
                os.chdir(self._directory)
                return ForkedModule(
                    process.name,
                    module,
                    environment,
                    log.fileno(),
                    become_child,
                    process.descriptors,
                )
            # The supervisor has one thread, so running Python between fork and exec is safe.
            return subprocess.Popen(
                (sys.executable, *self.process.arguments),
                cwd=self._directory,
                env=dict(self.process.environment),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=become_child,
                pass_fds=self.process.descriptors,
            )
