from __future__ import annotations

import platform
import subprocess
import sys

import pytest

from tests.unit.infrastructure.clouds import ROOT

pytestmark = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="it is for glibc")

START = """
import os, signal, threading, time
from chalicelib.core import allocator

def megabytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6

def wait_until(condition):
    deadline = time.monotonic() + 60
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.01)
"""
# Each thread frees large blocks of several sizes, and lives on
LARGE_BLOCKS = """
def work():
    for megabyte in range(20):
        bytes([1]) * megabyte * 1_000_000
        [b"x" * 100_000 for _ in range(100)]
    done.wait()
    finished.wait()
allocator.keep_little(0.01)
before = megabytes()
done, finished = threading.Barrier(9), threading.Event()
for _ in range(8):
    threading.Thread(target=work, daemon=True).start()
done.wait()
wait_until(lambda: megabytes() < before + 20)
print(megabytes() - before)
"""
# Every second block stays, so no end of an arena is free
HOLES = """
blocks = [bytes([1]) * 50_000 for _ in range(2000)]
del blocks[::2]
full = megabytes()
allocator.keep_little(0.01)
wait_until(lambda: megabytes() < full - 30)
print(full - megabytes())
"""
SIGNAL = """
allocator.keep_little()
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
os.kill(os.getpid(), signal.SIGTERM)
print(int(signal.sigwait({signal.SIGTERM})))
"""
THREADS = """
allocator.keep_little()
allocator.keep_little()
print(threading.active_count())
"""


def number_of(program: str) -> float:
    process = subprocess.run(
        [sys.executable, "-c", START + program],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return float(process.stdout)


def test_threads_keep_little_of_what_they_freed() -> None:
    assert number_of(LARGE_BLOCKS) < 20


def test_free_pages_between_blocks_in_use_are_given_back() -> None:
    assert number_of(HOLES) >= 30


def test_the_thread_that_gives_them_back_takes_no_signal() -> None:
    assert number_of(SIGNAL) == 15


def test_a_second_call_starts_no_second_thread() -> None:
    assert number_of(THREADS) == 2
