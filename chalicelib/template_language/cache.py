"""A bounded cache: the least recently used go when there are too many, or too much of them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar

Value = TypeVar("Value")


class SizedCache(Generic[Value]):
    """Values by key, each with a size; safe to share between threads.

    At most ``most`` values are kept, and no more than ``largest`` of size in all, though always
    the newest. Two threads may make the same value at once; the later one stays.
    """

    def __init__(self, *, most: int, largest: int) -> None:
        self._most = most
        self._largest = largest
        self._size = 0
        self._kept: OrderedDict[Hashable, tuple[Value, int]] = OrderedDict()
        self._lock = Lock()

    def get(self, key: Hashable, size: int, make: Callable[[], Value]) -> Value:
        """Return the value of ``key``, made if it is not there. What ``make`` raises passes."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key][0]
        value = make()
        with self._lock:
            _, replaced = self._kept.pop(key, (None, 0))
            self._kept[key] = value, size
            self._size += size - replaced
            while self._is_full():
                _, (_, dropped) = self._kept.popitem(last=False)
                self._size -= dropped
        return value

    def _is_full(self) -> bool:
        too_large = self._size > self._largest and len(self._kept) > 1
        return too_large or len(self._kept) > self._most
