"""Have the C library give freed memory back to the system, in processes that live for long.

glibc keeps what threads free for the next call: in up to eight arenas a core, each of 64 megabytes.
Some threads that handled messages of 20 MB so keep hundreds of megabytes. One arena is enough for
threads of Python, of which one runs at a time; and only of the first one does glibc give back the
end. Its free pages go back every few seconds.

Blocks of megabytes get mappings of their own, which go back at once. glibc would raise that limit
with the first of them, and a large message that is copied with another header does not fit the hole
of the former copy. The same for smaller blocks would make a large request a tenth slower.

Other C libraries, and Python's own allocator for small objects, stay as they are. A function on
Lambda makes one call at a time and needs none of it.
"""

from __future__ import annotations

import ctypes
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Final

_M_ARENA_MAX: Final = -8  # of malloc.h
_M_MMAP_THRESHOLD: Final = -3
_ARENAS: Final = 1
_LARGE_BLOCK: Final = 4 * 1024 * 1024
_SECONDS: Final = 5.0
_THREAD: Final = "allocator"

_libc = ctypes.CDLL(None) if sys.platform == "linux" else None


def keep_little(seconds: float = _SECONDS) -> None:
    """Keep this process to one arena, and give its free pages back every few seconds.

    Call it before there are other threads. A fork has one arena too, and calls this for the rest.
    """
    trim = getattr(_libc, "malloc_trim", None)
    if _libc is None or trim is None or _is_running():
        return
    _libc.mallopt(_M_ARENA_MAX, _ARENAS)
    _libc.mallopt(_M_MMAP_THRESHOLD, _LARGE_BLOCK)
    # Signals are for the threads that wait for them
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    threading.Thread(target=_keep_trimming, args=(trim, seconds), name=_THREAD, daemon=True).start()
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _is_running() -> bool:
    return any(thread.name == _THREAD for thread in threading.enumerate())


def _keep_trimming(trim: Callable[[int], int], seconds: float) -> None:
    while True:
        time.sleep(seconds)
        trim(0)
