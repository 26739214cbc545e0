"""Cache values up to a number and a total size, evicting the least recently used ones."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar

Value = TypeVar("Value")


class SizedCache(Generic[Value]):
    """Values by key, each with a size; safe to share between threads.

    At most ``most`` values are kept, with a total size of at most ``largest``; the newest value is
    always kept. Two threads may compute the same value at once; the later one stays.
    """

    def __init__(self, *, most: int, largest: int) -> None:
        self._most = most
        self._largest = largest
        self._size = 0
        self._entries: OrderedDict[Hashable, tuple[Value, int]] = OrderedDict()
        self._lock = Lock()

    def get(self, key: Hashable, size: int, make: Callable[[], Value]) -> Value:
        """Return the value of ``key``, computed by ``make`` if it is missing.

        Its exceptions pass.
        """
        with self._lock:
            if key in self._entries:
                self._entries.move_to_end(key)
                return self._entries[key][0]
        value = make()
        with self._lock:
            _, replaced = self._entries.pop(key, (None, 0))
            self._entries[key] = value, size
            self._size += size - replaced
            while self._is_full():
                _, (_, dropped) = self._entries.popitem(last=False)
                self._size -= dropped
        return value

    def _is_full(self) -> bool:
        too_large = self._size > self._largest and len(self._entries) > 1
        return too_large or len(self._entries) > self._most
