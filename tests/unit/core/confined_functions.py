"""Functions for confined calls to call; each does in its process what its argument says."""

from __future__ import annotations

import os


def act(argument: bytes) -> bytes:
    """Do what the argument's first word says."""
    word, _, rest = argument.decode().partition(" ")
    return _ACTIONS[word](rest)


def _kill(number: str) -> bytes:
    os.kill(os.getpid(), int(number))
    return b""


def _compute(_: str) -> bytes:
    while True:
        pass


def _allocate(_: str) -> bytes:
    return bytes(4 * 1024**3)


def _recurse(_: str) -> bytes:
    return _recurse(_)


def _refuse(text: str) -> bytes:
    raise ValueError(text)


def _fail(text: str) -> bytes:
    raise KeyError(text)


_ACTIONS = {
    "kill": _kill,
    "compute": _compute,
    "allocate": _allocate,
    "recurse": _recurse,
    "refuse": _refuse,
    "fail": _fail,
    "exit": lambda status: os._exit(int(status)),
    "pid": lambda _: str(os.getpid()).encode(),
    "length": lambda text: str(len(text)).encode(),
}
