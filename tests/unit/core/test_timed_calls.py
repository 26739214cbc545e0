"""Calls are made after their times, whatever the others do."""

from __future__ import annotations

import threading

from chalicelib.core.timed_calls import TimedCalls


def test_a_call_that_fails_does_not_stop_the_others() -> None:
    calls, done = TimedCalls(), threading.Event()

    def fail() -> None:
        raise OSError("no answer")

    calls.call_after(0.0, fail)
    calls.call_after(0.01, done.set)
    assert done.wait(10)


def test_calls_are_made_in_the_order_of_their_times() -> None:
    calls, done, order = TimedCalls(), threading.Event(), list[int]()
    calls.call_after(0.05, lambda: (order.append(2), done.set())[0])
    calls.call_after(0.01, lambda: order.append(1))
    assert done.wait(10)
    assert order == [1, 2]
