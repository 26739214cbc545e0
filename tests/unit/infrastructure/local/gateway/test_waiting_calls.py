from __future__ import annotations

import asyncio
import threading

import pytest

from infrastructure.local.gateway.waiting_calls import WaitingCalls


def test_one_caller_leaves_threads_to_the_others() -> None:
    released = threading.Event()
    calls = WaitingCalls(threads=3, of_one_caller=2)

    async def run() -> None:
        tasks = [asyncio.create_task(calls.run("a", lambda: released.wait(60))) for _ in range(9)]
        assert await calls.run("b", lambda: 5) == 5
        assert not any(task.done() for task in tasks)
        released.set()
        assert await asyncio.gather(*tasks) == [True] * 9

    asyncio.run(run())


def test_what_a_call_raises_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        asyncio.run(WaitingCalls(1, 1).run("a", lambda: 1 / 0))
