"""Timers call at their time, in its order, and not at all once they are cancelled."""

from __future__ import annotations

import os
import threading
import time

import pytest

from chalicelib.core import timers


def test_calls_come_in_the_order_of_their_times_from_one_thread() -> None:
    calls: list[tuple[str, str]] = []
    done = threading.Event()

    def note(name: str) -> None:
        calls.append((name, threading.current_thread().name))

    timers.call_later(0.06, done.set)
    timers.call_later(0.04, lambda: note("second"))
    timers.call_later(0.02, lambda: note("first"))
    assert done.wait(10)
    assert calls == [("first", "timers"), ("second", "timers")]


def test_a_cancelled_timer_makes_no_call() -> None:
    calls: list[str] = []
    done = threading.Event()
    timer = timers.call_later(0.02, lambda: calls.append("called"))
    timers.call_later(0.04, done.set)
    timer.cancel()
    assert done.wait(10)
    assert not calls


def test_a_call_that_fails_does_not_stop_the_others(caplog: pytest.LogCaptureFixture) -> None:
    done = threading.Event()
    timers.call_later(0.0, lambda: 1 / 0)
    timers.call_later(0.02, done.set)
    assert done.wait(10)
    assert "a timed call failed" in caplog.text


def test_a_fork_has_timers_of_its_own() -> None:
    timers.call_later(60, lambda: None)
    child = os.fork()
    if not child:
        done = threading.Event()
        timers.call_later(0.0, done.set)
        os._exit(0 if done.wait(10) else 1)
    deadline = time.monotonic() + 30
    while not (ended := os.waitpid(child, os.WNOHANG))[0] and time.monotonic() < deadline:
        threading.Event().wait(0.01)
    assert ended == (child, 0)
