"""Cache values up to a number and a total of bytes, evicting the least recently used ones."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from sys import getsizeof
from threading import Lock
from typing import Generic, TypeVar

Value = TypeVar("Value")


def memory_of(value: object) -> int:
    """Return the bytes of a text, or of another value of JSON types with all that it holds."""
    size, values = 0, [value]
    while values:
        each = values.pop()
        size += getsizeof(each)
        if isinstance(each, dict):
            values += each
            values += each.values()
        elif isinstance(each, list):
            values += each
    return size


class SizedCache(Generic[Value]):
    """Values by key; safe to share between threads.

    At most ``most`` values are kept, and at most ``most_bytes`` of memory for them and their keys;
    the newest value is always kept. Characters would be no bound: one emoji in a text makes each of
    its characters four bytes. ``size_of`` returns the bytes of a value. Two threads may compute the
    same value at once; the later one stays.
    """

    def __init__(
        self, *, most: int, most_bytes: int, size_of: Callable[[Value], int] = memory_of
    ) -> None:
        self._most = most
        self._most_bytes = most_bytes
        self._size_of = size_of
        self._size = 0
        self._entries: OrderedDict[Hashable, tuple[Value, int]] = OrderedDict()
        self._lock = Lock()

    def get(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """Return the value of ``key``, computed by ``make`` if it is missing.

        Its exceptions pass.
        """
        with self._lock:
            if key in self._entries:
                self._entries.move_to_end(key)
                return self._entries[key][0]
        value = make()
        size = getsizeof(key) + self._size_of(value)
        with self._lock:
            _, replaced = self._entries.pop(key, (None, 0))
            self._entries[key] = value, size
            self._size += size - replaced
            while self._is_full():
                _, (_, dropped) = self._entries.popitem(last=False)
                self._size -= dropped
        return value

    def clear(self) -> None:
        """Forget all values."""
        with self._lock:
            self._entries.clear()
            self._size = 0

    def _is_full(self) -> bool:
        too_large = self._size > self._most_bytes and len(self._entries) > 1
        return too_large or len(self._entries) > self._most
