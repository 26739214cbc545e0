"""Queue items of several lanes that take turns, so that a long lane does not hold up a short one.

A lane is a path of names, such as account and transmission: accounts take turns, and within an
account its transmissions do.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from typing import Generic, TypeVar

T = TypeVar("T")

Lane = tuple[str, ...]


class FairQueue(Generic[T]):
    """Items by lane; those of one lane come out in order. It is false while it is empty."""

    def __init__(self) -> None:
        self._items: deque[T] = deque()
        self._lanes: OrderedDict[str, FairQueue[T]] = OrderedDict()
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def push(self, lane: Lane, item: T) -> None:
        """Add an item at the end of its lane."""
        self._length += 1
        if lane:
            self._lanes.setdefault(lane[0], FairQueue()).push(lane[1:], item)
        else:
            self._items.append(item)

    def pop(self) -> T:
        """Take the next item of the lane whose turn it is; raises IndexError if there is none."""
        if not self._length:
            raise IndexError("the queue is empty")
        self._length -= 1
        if self._items:
            return self._items.popleft()
        name, lane = self._lanes.popitem(last=False)
        item = lane.pop()
        if lane:
            self._lanes[name] = lane
        return item
