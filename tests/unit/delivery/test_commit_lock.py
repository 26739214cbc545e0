"""One message holds the commit lock, others wait for it, and slow destinations go without it."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from chalicelib.delivery import commit_lock
from chalicelib.delivery.commit_lock import CommitLock
from tests.journey.service import eventually
from tests.unit.moving_clock import Clock

SECONDS = 5.0


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock(100.0)
    monkeypatch.setattr(commit_lock, "monotonic", clock)
    return clock


def commits_at_once(lock: CommitLock, destination: str) -> bool:
    """Tell whether mail to ``destination`` gets the lock, or may go without it, at once."""
    entered = threading.Event()

    def hold() -> None:
        with lock.hold(destination):
            entered.set()

    thread = threading.Thread(target=hold, daemon=True)
    thread.start()
    return entered.wait(0.05)


def commit(lock: CommitLock, destination: str, key: str, time: Clock) -> None:
    """Hold the lock for a second."""
    with lock.hold(destination, key):
        time.now += 1.0


def answer_late(lock: CommitLock, destination: str, time: Clock) -> None:
    with lock.hold(destination):
        time.now += 1.0


def test_one_message_at_a_time_holds_the_lock() -> None:
    lock, inside, most = CommitLock(SECONDS), 0, 0

    def hold(n: int) -> None:
        nonlocal inside, most
        with lock.hold(f"{n % 3}.test"):
            inside += 1
            most = max(most, inside)
            inside -= 1

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(hold, range(500)))
    assert (most, inside) == (1, 0)


@pytest.mark.parametrize("destination", ["a.test", "b.test"])
def test_others_wait_until_the_lock_is_released(destination: str) -> None:
    lock = CommitLock(SECONDS)
    with lock.hold("a.test"):
        assert not commits_at_once(lock, destination)
    assert commits_at_once(lock, destination)


def test_a_host_that_does_not_answer_in_time_loses_the_lock() -> None:
    lock = CommitLock(0.02)
    with lock.hold("slow.test"), lock.hold("fast.test"):
        second = lock._holds[0]  # granted while the first message still waits for its answer
    assert second is not None
    assert lock._holds == []


def test_a_holder_that_lost_the_lock_does_not_release_that_of_the_next() -> None:
    lock, entered, may_leave = CommitLock(0.02), threading.Event(), threading.Event()

    def second() -> None:
        with lock.hold("b.test"):
            entered.set()
            may_leave.wait(SECONDS)

    thread = threading.Thread(target=second)
    with lock.hold("a.test"):
        thread.start()
        assert entered.wait(SECONDS)
        lock._seconds = SECONDS
        hold = lock._holds[0]
    assert lock._holds == [hold]
    may_leave.set()
    thread.join(SECONDS)
    assert lock._holds == []


def test_a_slow_destination_neither_waits_for_others_nor_holds_them_up(time: Clock) -> None:
    lock = CommitLock(0.25)
    answer_late(lock, "slow.test", time)
    with lock.hold("fast.test"):
        assert commits_at_once(lock, "slow.test")
    answer_late(lock, "slow.test", time)
    with lock.hold("slow.test"):
        assert commits_at_once(lock, "fast.test")


def test_a_destination_that_answers_in_time_again_needs_the_lock_again(time: Clock) -> None:
    lock = CommitLock(0.25)
    answer_late(lock, "slow.test", time)
    with lock.hold("slow.test"):
        time.now += 0.1
    with lock.hold("fast.test"):
        assert not commits_at_once(lock, "slow.test")


def test_a_failure_releases_the_lock() -> None:
    lock = CommitLock(SECONDS)
    with pytest.raises(OSError, match="broken"), lock.hold("a.test"):
        raise OSError("broken")
    assert commits_at_once(lock, "b.test")


def test_the_number_of_remembered_slow_destinations_is_bounded(
    time: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commit_lock, "_MOST_SLOW_DESTINATIONS", 3)
    lock = CommitLock(0.25)
    for n in range(5):
        answer_late(lock, f"{n}.test", time)
    assert len(lock._slow) == 3


def test_a_wider_lock_has_so_many_holders_and_no_more() -> None:
    lock = CommitLock(SECONDS, width=2)
    with lock.hold("a.test"):
        assert commits_at_once(lock, "b.test")
        with lock.hold("b.test"):
            assert not commits_at_once(lock, "c.test")
        assert commits_at_once(lock, "c.test")


def test_the_lock_tells_how_many_messages_were_before_one(time: Clock) -> None:
    lock, threads = CommitLock(SECONDS), []
    with lock.hold("a.test", "a"):
        for destination, key in (("a.test", "a"), ("b.test", "b")):
            threads.append(threading.Thread(target=commit, args=(lock, destination, key, time)))
            threads[-1].start()
            eventually(lambda: len(lock._changed._waiters) == len(threads))  # type: ignore[attr-defined]
        time.now += 2.0
    for thread in threads:
        thread.join(SECONDS)
    assert lock.crowd("a") == pytest.approx(2.0 / 3.0)
    assert lock.crowd("b") == pytest.approx(3.0)
    assert lock.crowd("a") == lock.crowd("c") == 0.0


def test_the_number_of_keys_with_times_is_bounded(
    time: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commit_lock, "_MOST_KEYS", 3)
    lock = CommitLock(SECONDS)
    for n in range(5):
        commit(lock, "a.test", f"{n}", time)
    assert len(lock._times) <= 3
