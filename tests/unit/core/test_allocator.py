from __future__ import annotations

import os
import platform
import subprocess
import sys

import pytest

from tests.unit.infrastructure.clouds import ROOT

pytestmark = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="it is for glibc")

START = """
import ctypes, os, signal, sys, threading, time
from chalicelib.core import allocator

def megabytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
"""
# Each thread frees large blocks of several sizes, and lives on
LARGE_BLOCKS = """
def work():
    for megabyte in range(20):
        bytes(megabyte * 1_000_000)
        [b"x" * 100_000 for _ in range(100)]
    done.wait()
    finished.wait()
allocator.keep_little()
before = megabytes()
done, finished = threading.Barrier(9), threading.Event()
for _ in range(8):
    threading.Thread(target=work, daemon=True).start()
done.wait()
print(megabytes() - before)
"""
# Every second block stays, so no end of an arena is free
HOLES = """
allocator.keep_little()
blocks = [bytes([1]) * 50_000 for _ in range(2000)]
del blocks[::2]
full = megabytes()
allocator.keep_trimming(0.01)
deadline = time.monotonic() + 60
while megabytes() > full - 30 and time.monotonic() < deadline:
    time.sleep(0.01)
print(full - megabytes())
"""
SIGNAL = """
allocator.keep_trimming()
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
os.kill(os.getpid(), signal.SIGTERM)
print(int(signal.sigwait({signal.SIGTERM})))
"""


def number_of(program: str) -> float:
    process = subprocess.run(
        [sys.executable, "-c", START + program],
        cwd=ROOT,
        env={**os.environ, "PYTHONMALLOC": "default"},
        capture_output=True,
        text=True,
        check=True,
    )
    return float(process.stdout)


def test_threads_keep_little_of_what_they_freed() -> None:
    assert number_of(LARGE_BLOCKS) < 40


def test_threads_keep_much_of_it_otherwise() -> None:
    assert number_of(LARGE_BLOCKS.replace("allocator.keep_little()", "")) > 60


def test_free_pages_between_blocks_in_use_are_given_back() -> None:
    assert number_of(HOLES) >= 30


def test_the_thread_that_gives_them_back_takes_no_signal() -> None:
    assert number_of(SIGNAL) == 15
