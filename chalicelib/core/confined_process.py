"""Carry out the calls of one function, in a child process that :mod:`confined` started.

Arguments and results travel over a socket, which is the child's standard input. The child ends when
its parent has closed that, or has died. The kernel ends it if a call uses more processor time than
it may, whatever it does; so a child outlives its parent by one call at most.

This imports little, because the first call waits for it.
"""

from __future__ import annotations

import os
import resource
import signal
import socket
import struct
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from typing import Final

#: How an answer begins: a result, the text of a ``ValueError``, or the trace of another exception
RESULT: Final = b"r"
REFUSAL: Final = b"v"
FAULT: Final = b"f"

_LENGTH: Final = struct.Struct("!I")
_MOST_AT_ONCE: Final = 1024 * 1024

Function = Callable[[bytes], bytes]


def main() -> None:
    """Serve calls with the limits of :class:`confined.Confined`.

    The arguments are its ``memory``, ``seconds`` and ``per_megabyte``, and ``module:function``.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_AS, int(sys.argv[1]))
    seconds, per_megabyte = map(float, sys.argv[2:4])
    module, _, name = sys.argv[4].partition(":")
    function: Function = getattr(import_module(module), name)
    connection = socket.socket(fileno=0)
    while (argument := receive(connection)) is not None:
        signal.setitimer(signal.ITIMER_PROF, seconds + per_megabyte * len(argument) / 1e6)
        answer = _answer(function, argument)
        signal.setitimer(signal.ITIMER_PROF, 0)
        send(connection, answer)


def send(connection: socket.socket, data: bytes) -> None:
    """Send data for :func:`receive`; raises ``OSError``."""
    connection.sendall(_LENGTH.pack(len(data)))
    connection.sendall(data)


def receive(connection: socket.socket) -> bytes | None:
    """Return what was sent; ``None`` if the other end was closed. Raises ``OSError``."""
    head = _exactly(connection, _LENGTH.size)
    return None if head is None else _exactly(connection, *_LENGTH.unpack(head))


def _exactly(connection: socket.socket, size: int) -> bytes | None:
    data = bytearray()
    while len(data) < size:
        piece = connection.recv(min(size - len(data), _MOST_AT_ONCE))
        if not piece:
            return None
        data += piece
    return bytes(data)


def _answer(function: Function, argument: bytes) -> bytes:
    try:
        return RESULT + function(argument)
    except ValueError as refusal:
        return REFUSAL + str(refusal).encode("utf-8", "surrogatepass")
    except MemoryError:
        os.abort()
    except RecursionError:
        os.kill(os.getpid(), signal.SIGSEGV)
        raise
    except BaseException:  # libraries in Rust raise a panic as one
        return FAULT + traceback.format_exc().encode("utf-8", "surrogatepass")


def _limit(kind: int, most: int) -> None:
    """Lower a limit; one that is lower already stays."""
    _, hard = resource.getrlimit(kind)
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    with suppress(ValueError):  # macOS has no limit of the address space
        resource.setrlimit(kind, (most, most))
