"""The calls of a group's threads become one call."""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from chalicelib.core.combined_calls import CombinedCalls

LONG = 600.0


def calling(combined: CombinedCalls[int], *items: list[int]) -> list[Future[None]]:
    """Call with each of ``items`` in a thread of its own; return when all calls have ended."""
    with ThreadPoolExecutor(len(items)) as threads:
        return [threads.submit(combined, each) for each in items]


def test_one_call_has_the_items_of_all_members() -> None:
    calls: list[list[int]] = []
    calling(CombinedCalls(calls.append, 3, seconds=LONG), [1, 2], [3], [4])
    assert [sorted(each) for each in calls] == [[1, 2, 3, 4]]


def test_nobody_waits_for_members_that_left_or_have_nothing() -> None:
    calls: list[list[int]] = []
    combined = CombinedCalls(calls.append, 3, seconds=LONG)
    combined.leave()
    calling(combined, [], [1])
    assert calls == [[1]]


def test_a_member_that_leaves_later_ends_the_wait() -> None:
    calls: list[list[int]] = []
    combined = CombinedCalls(calls.append, 2, seconds=LONG)
    caller = threading.Thread(target=combined, args=[[1]])
    caller.start()
    combined.leave()
    caller.join()
    assert calls == [[1]]


def test_a_slow_member_does_not_hold_up_the_others_and_calls_alone() -> None:
    calls: list[list[int]] = []
    combined = CombinedCalls(calls.append, 3, seconds=0.01)
    calling(combined, [1])
    calling(combined, [2])
    combined([3])
    assert calls == [[1], [2], [3]]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_every_member_gets_the_exception_of_the_call(error: type[BaseException]) -> None:
    def fail(items: list[int]) -> None:
        raise error(len(items))

    for future in calling(CombinedCalls(fail, 2, seconds=LONG), [1], [2]):
        with pytest.raises(error, match="2"):
            future.result()
