"""Give tests a network of their own, where containers may have published ports.

Starting a container with published ports adds interfaces. Chromium, which other tests use at the
same time, drops what it loads whenever an interface of its network changes.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_CLONE_NEWNET = 0x40000000  # linux/sched.h
_SIOCSIFFLAGS = 0x8914  # linux/sockios.h
_SIOCSIFADDR = 0x8916  # linux/sockios.h
_IFF_UP = 1  # linux/if.h


@contextmanager
def own_network() -> Iterator[None]:
    """Move this thread, and what it starts, to a network that only has loopback addresses.

    It needs Linux and root.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    with Path("/proc/thread-self/ns/net").open() as network_before:
        _check(libc.unshare(_CLONE_NEWNET))
        try:
            with socket.socket() as any_socket:
                fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sh22x", b"lo", _IFF_UP))
            yield
        finally:
            _check(libc.setns(network_before.fileno(), _CLONE_NEWNET))


def add_address(address: str) -> None:
    """Give this thread's network an IPv4 address of its own, which containers reach."""
    request = struct.pack("16sH2x4s8x", b"lo:1", socket.AF_INET, socket.inet_aton(address))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, _SIOCSIFADDR, request)


def _check(result: int) -> None:
    if result:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
