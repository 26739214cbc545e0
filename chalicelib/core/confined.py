"""Call functions over strangers' content in child processes, so that none can end this process.

Libraries in C or Rust overrun their stack, abort when memory runs out, or compute for minutes, if
content is written for that. A child's death is a value here, :class:`Died`.

- A function has a child for each call that runs at the same time. A child starts with the first
  call that needs it and serves the following ones: a call costs one write and one read.
- A child that died is replaced at the next call. If it was killed from outside, the call is
  repeated once: that says nothing about the content.
- Children end with this process, however that ends (:mod:`confined_process`). A fork of this
  process starts children of its own.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections import deque
from collections.abc import Mapping
from typing import Final
from weakref import WeakSet

from chalicelib.core.confined_process import FAULT, REFUSAL, Function, receive, send

#: A child that waits for something, rather than computes, is killed after so many seconds
LONGEST_WAIT: Final = 120.0

_PROGRAM: Final = (
    "import sys; sys.path[:] = sys.argv[5:]; "
    "from chalicelib.core.confined_process import main; main()"
)
_REASONS: Final[Mapping[int, str]] = {
    signal.SIGSEGV: "it is nested too deeply",
    signal.SIGBUS: "it is nested too deeply",
    signal.SIGABRT: "it needs too much memory",
    signal.SIGPROF: "it takes too much work",
}
_TRIES: Final = 2
_LAST_SECONDS: Final = 5.0


class Died(Exception):
    """The child died of a call; the text says why."""


class FunctionFault(Exception):
    """The function raised an exception that is no ``ValueError``; the text is its trace."""


class Confined:
    """A function whose calls run in child processes.

    It is found by its name in its module, and takes and returns bytes. ``memory`` limits the bytes
    of address space of a child. A call may use ``seconds`` of processor time, and ``per_megabyte``
    seconds more for each megabyte of its argument.
    """

    def __init__(
        self, function: Function, *, memory: int, seconds: float, per_megabyte: float = 0.0
    ) -> None:
        name = f"{function.__module__}:{function.__qualname__}"
        self._arguments = (str(memory), str(seconds), str(per_megabyte), name)
        self._idle: deque[_Child] = deque()
        _instances.add(self)

    def __call__(self, argument: bytes) -> bytes:
        """Return the function's result.

        Raises ``ValueError`` as the function does, :class:`Died` and :class:`FunctionFault`.
        """
        for _ in range(_TRIES):
            child = self._idle_child() or _Child(self._arguments)
            answer = child.call(argument)
            if answer is not None:
                self._idle.append(child)
                return _result(answer)
            status = child.end()
            if status >= 0:
                raise FunctionFault(f"the process ended with status {status}")
            if reason := _REASONS.get(-status):
                raise Died(reason)
        raise Died("its process was killed twice")

    def close(self) -> None:
        """End the children that wait for calls."""
        while child := self._idle_child():
            child.end()

    def forget(self) -> None:
        """Leave the children to another process."""
        self._idle.clear()

    def _idle_child(self) -> _Child | None:
        try:
            return self._idle.pop()
        except IndexError:
            return None


def _forget_all() -> None:
    for instance in list(_instances):
        instance.forget()


_instances: WeakSet[Confined] = WeakSet()
os.register_at_fork(after_in_child=_forget_all)


class _Child:
    """A child process and the socket to it."""

    def __init__(self, arguments: tuple[str, ...]) -> None:
        self._socket, theirs = socket.socketpair()
        path = [each or os.getcwd() for each in sys.path]
        with theirs:
            self._process = subprocess.Popen(
                (sys.executable, "-c", _PROGRAM, *arguments, *path), stdin=theirs.fileno()
            )
        self._socket.settimeout(LONGEST_WAIT)

    def call(self, argument: bytes) -> bytes | None:
        """Return the child's answer; ``None`` if it died or does not answer."""
        try:
            send(self._socket, argument)
            return receive(self._socket)
        except OSError:
            return None

    def end(self) -> int:
        """Return the status of a child that ended, negative for a signal.

        One that does not answer is killed.
        """
        self._socket.close()
        try:
            # The kernel closes the socket of a process before it tells of its end
            return self._process.wait(timeout=_LAST_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            return -signal.SIGPROF


def _result(answer: bytes) -> bytes:
    kind, result = answer[:1], answer[1:]
    if kind == REFUSAL:
        raise ValueError(result.decode("utf-8", "surrogatepass"))
    if kind == FAULT:
        raise FunctionFault(result.decode("utf-8", "surrogatepass"))
    return result
