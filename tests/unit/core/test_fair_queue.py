"""Lanes take turns, whatever their length."""

from __future__ import annotations

import threading
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.core.concurrency import PerKeyExecutor
from chalicelib.core.fair_queue import FairQueue
from chalicelib.core.timed_calls import TimedCalls


def test_a_short_lane_does_not_wait_for_a_long_one() -> None:
    queue: FairQueue[str] = FairQueue()
    for number in range(1_000):
        queue.push(("1", "bulk"), f"bulk {number}")
    queue.push(("2", "reset"), "reset")
    queue.push(("1", "other"), "other")
    first = [queue.pop() for _ in range(4)]
    assert first == ["bulk 0", "reset", "other", "bulk 1"]


@given(st.lists(st.tuples(st.sampled_from("12"), st.sampled_from("ab"))))
def test_every_item_comes_out_once_and_lanes_in_order(lanes: list[tuple[str, str]]) -> None:
    queue: FairQueue[tuple[tuple[str, str], int]] = FairQueue()
    for number, lane in enumerate(lanes):
        queue.push(lane, (lane, number))
    out = [queue.pop() for _ in range(len(queue))]
    assert not queue
    assert Counter(lane for lane, _ in out) == Counter(lanes)
    for lane in set(lanes):
        numbers = [number for each, number in out if each == lane]
        assert numbers == sorted(numbers)


def test_an_empty_queue_has_nothing_to_give() -> None:
    with pytest.raises(IndexError):
        FairQueue[int]().pop()


def test_calls_of_one_key_take_turns_by_lane() -> None:
    executor, order, go_on = PerKeyExecutor(1, 1), list[str](), threading.Event()
    first = executor.submit("key", lambda: go_on.wait(10), ("1",))
    calls = [executor.submit("key", lambda: order.append("bulk"), ("1",)) for _ in range(5)]
    calls.append(executor.submit("key", lambda: order.append("reset"), ("2",)))
    go_on.set()
    for call in [first, *calls]:
        call.result(10)
    assert order.index("reset") <= 1


def test_calls_of_many_keys_take_turns_by_lane_where_threads_are_few() -> None:
    executor, order, go_on = PerKeyExecutor(1, 2), list[str](), threading.Event()
    first = executor.submit("first", lambda: go_on.wait(10), ("1", "bulk"))
    calls = [
        executor.submit(f"key {number % 20}", lambda: order.append("bulk"), ("1", "bulk"))
        for number in range(100)
    ]
    for lane in (("2", "reset"), ("1", "other")):
        calls.append(executor.submit(lane[1], lambda lane=lane: order.append(lane[1]), lane))
    go_on.set()
    for call in [first, *calls]:
        call.result(10)
    assert len(order) == 102
    assert order.index("reset") <= 1
    assert order.index("other") <= 3


def test_timed_calls_are_made_in_the_order_of_their_times() -> None:
    calls, order, done = TimedCalls(), list[int](), threading.Event()
    calls.call_after(0.05, lambda: (order.append(2), done.set()))
    calls.call_after(0.01, lambda: order.append(1))
    assert done.wait(10)
    assert order == [1, 2]
