"""Have the C library give freed memory back to the system, in processes that live for long.

glibc keeps what threads free for the next call: in up to eight arenas a core, each of 64 megabytes,
and once a large block was freed, the next one is cut from an arena too. Some threads that handled
messages of 20 MB so keep hundreds of megabytes. Other C libraries, and Python's own allocator for
small objects, stay as they are. A function on Lambda makes one call at a time and needs none of it.
"""

from __future__ import annotations

import ctypes
import signal
import sys
import threading
import time
from typing import Final

# The numbers of malloc.h
_M_TRIM_THRESHOLD: Final = -1
_M_MMAP_THRESHOLD: Final = -3
_M_ARENA_MAX: Final = -8

# Of the threads of a Python process, seldom more than one allocates
_ARENAS: Final = 2
# A block of this size is a mapping of its own, which goes back when it is freed
_OWN_MAPPING: Final = 256 * 1024
# Free bytes at the end of an arena that stay there
_FREE_AT_END: Final = 1024 * 1024
_TRIM_SECONDS: Final = 5.0

_libc = ctypes.CDLL(None) if sys.platform == "linux" else None


def keep_little() -> None:
    """Bound what this process and its forks keep; call it before there are threads."""
    if set_option := getattr(_libc, "mallopt", None):
        set_option(_M_ARENA_MAX, _ARENAS)
        set_option(_M_MMAP_THRESHOLD, _OWN_MAPPING)
        set_option(_M_TRIM_THRESHOLD, _FREE_AT_END)


def keep_trimming(seconds: float = _TRIM_SECONDS) -> None:
    """Give back free pages between blocks in use as well, again and again, in a thread.

    The thread takes no signal: they are for the threads that wait for them.
    """
    if trim := getattr(_libc, "malloc_trim", None):

        def run() -> None:
            while True:
                time.sleep(seconds)
                trim(0)

        mask = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        threading.Thread(target=run, name="allocator", daemon=True).start()
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
