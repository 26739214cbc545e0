"""Run Python modules in forks of this process, which share what it has imported.

Five processes of the runtime need the same packages. To import them takes each process half a
second of processor time and fifty megabytes; a fork has them at once, and shares the memory.

The supervisor stays one thread, opens no connection and imports only; so a fork has nothing that
two processes must not share. Elsewhere than on Linux the system's own libraries do not survive a
fork, and a new interpreter is started.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import logging
import os
import signal
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from multiprocessing.context import ForkProcess
from types import ModuleType

from chalicelib.core import allocator

FORKS = sys.platform == "linux"

_PR_SET_NAME = 15
_libc = ctypes.CDLL(None) if FORKS else None


def preload(modules: Iterable[str], environment: Mapping[str, str]) -> None:
    """Import what the ``modules`` need, under the environment that their processes will have."""
    if not FORKS:
        return
    _adopt(environment)
    recursion_limit = sys.getrecursionlimit()
    for module in modules:
        _import(module)
    # A library of the local cloud raises it, and parsers of strangers' mail rely on it
    sys.setrecursionlimit(recursion_limit)
    # What is here now stays; collections in forks need not look at it, and write to its pages
    gc.freeze()


class ForkedModule(ForkProcess):
    """``python -m module arguments`` in a fork; has the interface of :class:`subprocess.Popen`.

    ``become_child`` is called in the fork before anything else. Besides ``output`` it keeps only
    ``descriptors``.
    """

    def __init__(
        self,
        name: str,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        output: int,
        become_child: Callable[[], None],
        descriptors: Sequence[int] = (),
    ) -> None:
        super().__init__(name=name)
        self._module, *self._arguments = arguments
        self._environment = environment
        self._output = output
        self._become_child = become_child
        self._descriptors = descriptors
        # A signal waits until the fork has its own handlers in place of the supervisor's
        before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            self.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def poll(self) -> int | None:
        """Return the exit status, or ``None`` while it runs."""
        return self.exitcode

    def wait(self) -> None:
        """Wait until it has ended."""
        self.join()

    def run(self) -> None:
        """Run the module, in the fork."""
        self._become_child()
        self._detach()
        _adopt(self._environment)
        allocator.keep_little()
        sys.argv = [self._module, *self._arguments]
        try:
            status = _import(self._module).main()
        except Exception:
            if not logging.getLogger().handlers:
                raise
            # In the form of all other lines
            logging.getLogger(self._module).exception("%s failed", self.name)
            status = 1
        sys.exit(status)

    def _detach(self) -> None:
        """Leave to the supervisor what is its own: its session, files and handlers of signals."""
        assert _libc is not None
        os.setsid()
        _libc.prctl(_PR_SET_NAME, self.name.encode(), 0, 0, 0)
        with open(os.devnull, "rb") as nothing:
            os.dup2(nothing.fileno(), 0)
        for number, stream in ((1, sys.stdout), (2, sys.stderr)):
            os.dup2(self._output, number)
            stream.reconfigure(line_buffering=True)  # type: ignore[union-attr]
        signal.set_wakeup_fd(-1)
        _close_all_but(self._descriptors)
        for each in (signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP):
            # nohup ignores SIGHUP
            if signal.getsignal(each) != signal.SIG_IGN:
                signal.signal(each, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())


def _close_all_but(descriptors: Iterable[int]) -> None:
    """Close what was opened besides standard input and output."""
    first = 3
    for descriptor in sorted(descriptors):
        os.closerange(first, descriptor)
        first = descriptor + 1
    os.closerange(first, os.sysconf("SC_OPEN_MAX"))


def _adopt(environment: Mapping[str, str]) -> None:
    os.environ.clear()
    os.environ.update(environment)


def _import(module: str) -> ModuleType:
    """Import the module that ``python -m`` runs."""
    imported = importlib.import_module(module)
    return importlib.import_module(f"{module}.__main__") if _is_package(imported) else imported


def _is_package(module: ModuleType) -> bool:
    return hasattr(module, "__path__")
