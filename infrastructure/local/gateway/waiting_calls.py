"""Run calls that wait for other hosts in threads of their own, so that no other call waits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, TypeVar

from chalicelib.core.concurrency import PerKeyExecutor

T = TypeVar("T")

THREADS: Final = 48
#: Threads of one caller: others find a free one
OF_ONE_CALLER: Final = 16


class WaitingCalls:
    """Runs calls of several callers, some at a time."""

    def __init__(self, threads: int = THREADS, of_one_caller: int = OF_ONE_CALLER) -> None:
        self._executor = PerKeyExecutor(threads, of_one_caller)

    async def run(self, caller: str, call: Callable[[], T]) -> T:
        """Return the result of ``call`` when there was a free thread for its caller."""
        return await asyncio.wrap_future(self._executor.submit(caller, call))
