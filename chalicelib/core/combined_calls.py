"""Combine the calls that the threads of a group make into one call for all of them.

The threads do similar work at the same time, and at its end each would make a request. A request
for all of them costs as much as one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

T = TypeVar("T")


class _Round(Generic[T]):
    """The items of one combined call, and how it ended."""

    def __init__(self) -> None:
        self.items: list[T] = []
        self.is_closed = False
        self.is_over = False
        self.error: BaseException | None = None


class CombinedCalls(Generic[T]):
    """Calls ``call`` with the items of all members of a group.

    Each member calls or leaves, once. One that calls waits for the others, but at most ``seconds``:
    a slow one must not hold up the rest. Each gets the exception that the combined call raised.
    """

    def __init__(
        self, call: Callable[[list[T]], object], members: int, *, seconds: float = 0.25
    ) -> None:
        self._call = call
        self._seconds = seconds
        self._changed = threading.Condition()
        self._absent = members  # those that have neither called nor left
        self._round: _Round[T] = _Round()

    def __call__(self, items: Sequence[T]) -> None:
        """Make the call with these items and those of other members; without items, leave."""
        if not items:
            self.leave()
            return
        with self._changed:
            current = self._round
            is_first = not current.items
            current.items += items
            self._absent -= 1
            if self._absent <= 0:
                self._changed.notify_all()
            if not is_first:
                self._changed.wait_for(lambda: current.is_over)
            else:
                self._changed.wait_for(lambda: self._absent <= 0, self._seconds)
                self._round = _Round()
        if is_first:
            self._finish(current)
        if current.error:
            raise current.error

    def leave(self) -> None:
        """Note that a member will not call."""
        with self._changed:
            self._absent -= 1
            self._changed.notify_all()

    def _finish(self, current: _Round[T]) -> None:
        try:
            self._call(current.items)
        except BaseException as error:
            current.error = error
        with self._changed:
            current.is_over = True
            self._changed.notify_all()
