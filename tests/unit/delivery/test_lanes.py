"""Threads that work for several destinations."""

from __future__ import annotations

import threading
from concurrent.futures import Future, wait

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.delivery.lanes import Lanes

SECONDS = 20.0


class Busy:
    """Calls that last until they are released, and how many there are at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._released = threading.Event()
        self.running = self.most = 0
        self.begun = threading.Semaphore(0)

    def __call__(self) -> None:
        with self._lock:
            self.running += 1
            self.most = max(self.most, self.running)
        self.begun.release()
        assert self._released.wait(SECONDS)
        with self._lock:
            self.running -= 1

    def release(self) -> None:
        self._released.set()


@pytest.fixture
def slow() -> Busy:
    return Busy()


def test_a_destination_has_no_more_calls_at_a_time_than_allowed(slow: Busy) -> None:
    lanes = Lanes(8, 3)
    running = [lanes.submit("slow.test", slow) for _ in range(10)]
    for _ in range(3):
        assert slow.begun.acquire(timeout=SECONDS)
    slow.release()
    for each in running:
        each.result(SECONDS)
    assert slow.most == 3


def test_another_destination_does_not_wait(slow: Busy) -> None:
    lanes = Lanes(4, 3)
    held = [lanes.submit("slow.test", slow) for _ in range(50)]
    assert lanes.submit("fast.test", lambda: "done").result(SECONDS) == "done"
    assert not any(each.done() for each in held)
    slow.release()
    wait(held, SECONDS)


def test_calls_of_a_destination_begin_in_their_order() -> None:
    lanes, begun = Lanes(4, 1), list[int]()
    running = [lanes.submit("a.test", lambda n=n: begun.append(n)) for n in range(100)]
    wait(running, SECONDS)
    assert begun == list(range(100))


def test_a_call_that_fails_tells_so_and_makes_room() -> None:
    def fail() -> None:
        raise OSError("broken")

    lanes = Lanes(1, 1)
    failed: list[Future[None]] = [lanes.submit("a.test", fail) for _ in range(3)]
    assert lanes.submit("a.test", lambda: 1).result(SECONDS) == 1
    for each in failed:
        with pytest.raises(OSError, match="broken"):
            each.result(SECONDS)


@given(st.lists(st.sampled_from("abc"), max_size=40), st.integers(1, 4), st.integers(1, 4))
@settings(max_examples=30)
def test_every_call_is_made_once_and_lanes_are_left_empty(
    destinations: list[str], threads: int, width: int
) -> None:
    lanes, made = Lanes(threads, width), list[int]()
    running = [
        lanes.submit(destination, lambda n=n: made.append(n))
        for n, destination in enumerate(destinations)
    ]
    assert not wait(running, SECONDS).not_done
    lanes._pool.shutdown()
    assert sorted(made) == list(range(len(destinations)))
    assert not lanes._busy
    assert not lanes._waiting
