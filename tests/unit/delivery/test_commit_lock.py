"""Turns: who holds one, who has to wait, and who goes without."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from chalicelib.delivery import commit_lock
from chalicelib.delivery.commit_lock import CommitLock
from tests.unit.moving_clock import Clock

SECONDS = 5.0


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Clock:
    moved = Clock(100.0)
    monkeypatch.setattr(commit_lock, "monotonic", moved)
    return moved


def goes_at_once(one: CommitLock, destination: str) -> bool:
    """Tell whether a turn, or leave to go without one, is given at once."""
    begun = threading.Event()

    def take() -> None:
        with one.take(destination):
            begun.set()

    thread = threading.Thread(target=take, daemon=True)
    thread.start()
    return begun.wait(0.05)


def late_answer(one: CommitLock, destination: str, time: Clock) -> None:
    with one.take(destination):
        time.now += 1.0


def test_one_holds_the_turn_at_a_time() -> None:
    one, inside, most = CommitLock(SECONDS), 0, 0

    def hold(n: int) -> None:
        nonlocal inside, most
        with one.take(f"{n % 3}.test"):
            inside += 1
            most = max(most, inside)
            inside -= 1

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(hold, range(500)))
    assert (most, inside) == (1, 0)


@pytest.mark.parametrize("destination", ["a.test", "b.test"])
def test_others_wait_for_the_turn_to_end(destination: str) -> None:
    one = CommitLock(SECONDS)
    with one.take("a.test"):
        assert not goes_at_once(one, destination)
    assert goes_at_once(one, destination)


def test_who_does_not_answer_in_time_loses_the_turn() -> None:
    one = CommitLock(0.02)
    with one.take("slow.test"), one.take("fast.test"):
        second = one._holder  # is had while the first still lasts
    assert second is not None
    assert one._holder is None


def test_a_turn_that_was_lost_is_not_given_back_by_its_former_holder() -> None:
    one, taken, let_go = CommitLock(0.02), threading.Event(), threading.Event()

    def second() -> None:
        with one.take("b.test"):
            taken.set()
            let_go.wait(SECONDS)

    thread = threading.Thread(target=second)
    with one.take("a.test"):
        thread.start()
        assert taken.wait(SECONDS)
        one._seconds = SECONDS
        holder = one._holder
    assert one._holder is holder
    let_go.set()
    thread.join(SECONDS)
    assert one._holder is None


def test_a_destination_whose_answers_come_late_waits_for_nobody_and_holds_up_nobody(
    time: Clock,
) -> None:
    one = CommitLock(0.25)
    late_answer(one, "slow.test", time)
    with one.take("fast.test"):
        assert goes_at_once(one, "slow.test")
    late_answer(one, "slow.test", time)
    with one.take("slow.test"):
        assert goes_at_once(one, "fast.test")


def test_a_destination_that_answers_in_time_again_takes_turns_again(time: Clock) -> None:
    one = CommitLock(0.25)
    late_answer(one, "slow.test", time)
    with one.take("slow.test"):
        time.now += 0.1
    with one.take("fast.test"):
        assert not goes_at_once(one, "slow.test")


def test_a_failure_gives_the_turn_back() -> None:
    one = CommitLock(SECONDS)
    with pytest.raises(OSError, match="broken"), one.take("a.test"):
        raise OSError("broken")
    assert goes_at_once(one, "b.test")


def test_no_more_slow_destinations_are_remembered_than_a_few(
    time: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commit_lock, "_MOST_REMEMBERED", 3)
    one = CommitLock(0.25)
    for n in range(5):
        late_answer(one, f"{n}.test", time)
    assert len(one._slow) == 3
