"""A limit of calls for each key."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.core import concurrency
from chalicelib.core.concurrency import PerKeyExecutor, PerKeyLimit
from chalicelib.delivery.commit_lock import CommitLock
from tests.journey.service import eventually

SECONDS = 20.0


class BlockingCall:
    """A call that lasts until it is released; counts how many run at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._released = threading.Event()
        self.running = self.most = 0
        self.started = threading.Semaphore(0)

    def __call__(self) -> None:
        with self._lock:
            self.running += 1
            self.most = max(self.most, self.running)
        self.started.release()
        assert self._released.wait(SECONDS)
        with self._lock:
            self.running -= 1

    def release(self) -> None:
        self._released.set()


@pytest.fixture
def slow() -> BlockingCall:
    return BlockingCall()


def test_a_key_has_no_more_places_than_the_limit() -> None:
    limit = PerKeyLimit(2)
    with limit.place("a") as first, limit.place("a") as second, limit.place("a") as third:
        assert (first, second, third) == (True, True, False)
        assert limit.in_use("a") == 2
    assert limit.in_use("a") == 0


def test_each_key_has_places_of_its_own() -> None:
    limit = PerKeyLimit(1)
    with limit.place("a") as first, limit.place("b") as second:
        assert (first, second) == (True, True)


def test_a_place_is_given_back_when_the_block_fails() -> None:
    limit = PerKeyLimit(1)
    with pytest.raises(OSError, match="broken"), limit.place("a"):
        raise OSError("broken")
    assert limit.acquire("a")


def test_a_caller_that_waits_gets_the_place_that_is_given_back() -> None:
    limit = PerKeyLimit(1)
    assert limit.acquire("a")
    threading.Timer(0.05, limit.release, ("a",)).start()
    assert limit.acquire("a", timeout=SECONDS)


def test_a_caller_waits_no_longer_than_its_timeout() -> None:
    limit = PerKeyLimit(1)
    assert limit.acquire("a")
    assert not limit.acquire("a", timeout=0.01)


def test_a_key_without_places_in_use_takes_no_memory() -> None:
    limit = PerKeyLimit(1)
    with limit.place("a"), limit.place("a"):
        pass
    assert not limit._in_use


def test_an_executor_runs_no_more_calls_of_a_key_than_the_limit(slow: BlockingCall) -> None:
    executor = PerKeyExecutor(8, 3)
    futures = [executor.submit("slow.test", slow) for _ in range(10)]
    for _ in range(3):
        assert slow.started.acquire(timeout=SECONDS)
    slow.release()
    for future in futures:
        future.result(SECONDS)
    assert slow.most == 3


def test_a_call_of_another_key_does_not_wait(slow: BlockingCall) -> None:
    executor = PerKeyExecutor(4, 3)
    futures = [executor.submit("slow.test", slow) for _ in range(50)]
    assert executor.submit("fast.test", lambda: "done").result(SECONDS) == "done"
    assert not any(future.done() for future in futures)
    slow.release()
    wait(futures, SECONDS)


def test_calls_of_a_key_start_in_their_order() -> None:
    executor, order = PerKeyExecutor(4, 1), list[int]()
    futures = [executor.submit("a.test", lambda n=n: order.append(n)) for n in range(100)]
    wait(futures, SECONDS)
    assert order == list(range(100))


def test_a_call_that_fails_reports_it_and_gives_its_place_back() -> None:
    def fail() -> None:
        raise OSError("broken")

    executor = PerKeyExecutor(1, 1)
    futures: list[Future[None]] = [executor.submit("a.test", fail) for _ in range(3)]
    assert executor.submit("a.test", lambda: 1).result(SECONDS) == 1
    for future in futures:
        with pytest.raises(OSError, match="broken"):
            future.result(SECONDS)


@given(st.lists(st.sampled_from("abc"), max_size=40), st.integers(1, 4), st.integers(1, 4))
@settings(max_examples=30)
def test_every_call_runs_once_and_no_place_stays_in_use(
    keys: list[str], threads: int, limit: int
) -> None:
    executor, numbers = PerKeyExecutor(threads, limit), list[int]()
    futures = [executor.submit(key, lambda n=n: numbers.append(n)) for n, key in enumerate(keys)]
    assert not wait(futures, SECONDS).not_done
    executor._pool.shutdown()
    assert sorted(numbers) == list(range(len(keys)))
    assert not executor._limit._in_use
    assert not executor._queues
    assert not executor._ready


def test_keys_take_turns_where_threads_are_few() -> None:
    executor, order, may_begin = PerKeyExecutor(1, 1), list[str](), threading.Event()
    first = executor.submit("a.test", lambda: may_begin.wait(SECONDS))
    keys = ["a.test", "a.test", "b.test", "b.test"]
    futures = [executor.submit(key, lambda key=key: order.append(key)) for key in keys]
    may_begin.set()
    assert not wait([first, *futures], SECONDS).not_done
    assert order == ["b.test", "a.test", "b.test", "a.test"]


def test_calls_of_one_key_go_on_in_the_same_thread() -> None:
    executor, threads, may_begin = PerKeyExecutor(4, 1), set[int](), threading.Event()
    first = executor.submit("a.test", lambda: may_begin.wait(SECONDS))
    futures = [
        executor.submit("a.test", lambda: threads.add(threading.get_ident())) for _ in range(50)
    ]
    may_begin.set()
    assert not wait([first, *futures], SECONDS).not_done
    assert len(threads) == 1


@dataclass
class Line:
    """What calls take turns at, with so many calls before each of them."""

    length: float = 0.0

    def crowd(self, key: str) -> float:
        return self.length


@pytest.fixture
def slow_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let tests look at how calls fare, not the time."""
    monkeypatch.setattr(concurrency, "OBSERVED_SECONDS", 3600.0)


@contextmanager
def blocked_calls(executor: PerKeyExecutor, count: int) -> Iterator[list[Future[bool]]]:
    """Submit calls that each last until the block ends."""
    may_end = threading.Event()
    calls = [executor.submit("a.test", lambda: may_end.wait(SECONDS)) for _ in range(count)]
    yield calls
    may_end.set()
    assert not wait(calls, SECONDS).not_done


@pytest.mark.usefixtures("slow_look")
@pytest.mark.parametrize(
    ("length", "places"), [(0.0, 8), (1.4, 8), (1.6, 7), (3.0, 6), (6.2, 2), (100.0, 2)]
)
def test_a_key_whose_calls_wait_for_their_turns_gets_fewer_places(
    length: float, places: int
) -> None:
    executor = PerKeyExecutor(8, 8, Line(length))
    with blocked_calls(executor, 20):
        executor._adjust("a.test")
        assert executor._useful.get("a.test", 8) == places


@pytest.mark.usefixtures("slow_look")
def test_a_call_that_ends_gives_a_place_back_that_is_not_useful() -> None:
    line = Line(6.5)
    executor = PerKeyExecutor(8, 8, line)
    with blocked_calls(executor, 9):
        executor._adjust("a.test")
    eventually(lambda: executor._limit.in_use("a.test") == 0)
    with blocked_calls(executor, 9):
        assert executor._limit.in_use("a.test") == 2


@pytest.mark.usefixtures("slow_look")
def test_a_key_whose_calls_do_not_wait_gets_one_place_more() -> None:
    line = Line(6.5)
    executor = PerKeyExecutor(8, 8, line)
    with blocked_calls(executor, 9):
        executor._adjust("a.test")
    line.length = 0.4
    eventually(lambda: executor._limit.in_use("a.test") == 0)
    with blocked_calls(executor, 20):
        for places in (3, 4, 5, 6, 7, 8, 8):
            executor._adjust("a.test")
            assert executor._limit.in_use("a.test") == places


@pytest.mark.usefixtures("slow_look")
def test_a_key_without_calls_is_forgotten() -> None:
    executor = PerKeyExecutor(8, 8, Line(6.5))
    with blocked_calls(executor, 9):
        executor._adjust("a.test")
    eventually(lambda: executor._limit.in_use("a.test") == 0)
    executor._adjust("a.test")
    assert not executor._useful
    assert not executor._observed


@pytest.mark.usefixtures("slow_look")
def test_calls_of_an_executor_without_turns_are_not_observed() -> None:
    executor = PerKeyExecutor(1, 1)
    with blocked_calls(executor, 9):
        assert not executor._observed


def test_calls_that_stall_before_their_turn_do_not_hold_up_the_rest(slow: BlockingCall) -> None:
    executor = PerKeyExecutor(8, 8, Line(0.0))
    executor._useful["a.test"] = 2
    futures = [executor.submit("a.test", slow) for _ in range(5)]
    for _ in range(5):
        assert slow.started.acquire(timeout=SECONDS)
    slow.release()
    assert not wait(futures, SECONDS).not_done


def test_a_key_has_as_many_places_as_are_useful() -> None:
    lock, ends = CommitLock(SECONDS), threading.Event()
    executor = PerKeyExecutor(8, 8, lock)

    def call() -> None:
        ends.wait(0.001)
        with lock.hold("a.test", "a.test"):
            ends.wait(0.004)

    futures = [executor.submit("a.test", call) for _ in range(5_000)]
    eventually(lambda: executor._limit.in_use("a.test") <= 3)
    assert not futures[-1].done()
    ends.set()
    assert not wait(futures, SECONDS).not_done
