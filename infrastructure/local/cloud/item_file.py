"""Keep the items of the local cloud's tables in a file, and in memory only where each one is.

The file only takes the place of memory: it has no name, is new at each start and is never
synchronised. What survives is in the log and its base (see `state_files`), which get the items when
they are stored and removed. A child that writes a base shares the file, so the place of a removed
item is not used again before the child ends. Items that have not changed since the start are read
from the base that it began with.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from chalicelib.core.json_types import Json
from infrastructure.local.cloud.base_file import StoredItem
from infrastructure.local.cloud.changes import NEVER
from infrastructure.local.cloud.redo_log import allocate, write_fully

# A place is one number: seconds at which the item expires, offset in the file, length
_LENGTH_BITS = 24
_OFFSET_BITS = 40
# Of the offset of an item that is in the base
_IN_BASE = 1 << _OFFSET_BITS - 1
_SLOT = 64
_PADDING = bytes(_SLOT)
_STEP = 4 << 20
# Items that are read at the start are written in pieces of this size
_BUFFER = 1 << 20


class ItemFile:
    """A file in ``directory`` whose slots are used again.

    ``base_descriptor`` is that of the base, once there is one.
    """

    def __init__(self, directory: Path) -> None:
        self.descriptor, path = tempfile.mkstemp(dir=directory)
        os.unlink(path)
        self.base_descriptor = -1
        self._end = 0
        self._room_end = 0
        self._buffer = bytearray()
        self._flushed = 0
        self._free: defaultdict[int, list[int]] = defaultdict(list)
        self._freed_meanwhile: list[int] | None = None

    def make_room(self, size: int) -> None:
        """Make sure that ``size`` bytes more can be stored; raises OSError."""
        if self._end + size > self._room_end:
            room_end = self._end + size + _STEP
            allocate(self.descriptor, self._room_end, room_end)
            self._room_end = room_end

    def add(self, text: bytes, expires: int) -> int:
        """Store ``text`` at the end, in memory until :meth:`flush`; return its place."""
        offset, length = self._end, len(text)
        self._buffer += text
        self._buffer += _PADDING[: -length % _SLOT]
        self._end = end = offset + length + -length % _SLOT
        if end - self._flushed > _BUFFER:
            self.flush()
        return _place(offset, length, expires)

    def flush(self) -> None:
        """Write what was added."""
        write_fully(self.descriptor, bytes(self._buffer), self._end - len(self._buffer))
        self._buffer.clear()
        self._flushed = self._end

    def write(self, text: bytes, expires: int = NEVER) -> int:
        """Store ``text``; return its place."""
        size = _slot_size(len(text))
        if self._free[size]:
            offset = self._free[size].pop()
        else:
            offset, self._end = self._end, self._end + size
        write_fully(self.descriptor, text, offset)
        return _place(offset, len(text), expires)

    def read(self, place: int) -> bytes:
        """Return what is stored at a place."""
        offset, length = _offset(place), place & (1 << _LENGTH_BITS) - 1
        if offset & _IN_BASE:
            return os.pread(self.base_descriptor, length, offset ^ _IN_BASE)
        return os.pread(self.descriptor, length, offset)

    def free(self, place: int) -> None:
        """Let the place be used again, unless it is in the base."""
        if _offset(place) & _IN_BASE:
            return
        if self._freed_meanwhile is not None:
            self._freed_meanwhile.append(place)
            return
        self._free[_slot_size(place & (1 << _LENGTH_BITS) - 1)].append(_offset(place))

    @contextmanager
    def held(self) -> Iterator[None]:
        """Use no place again within the block: another process reads the file."""
        self._freed_meanwhile = []
        try:
            yield
        finally:
            places, self._freed_meanwhile = self._freed_meanwhile, None
            for place in places:
                self.free(place)


def _slot_size(length: int) -> int:
    return -(-length // _SLOT) * _SLOT


def _place(offset: int, length: int, expires: int) -> int:
    return (expires << _OFFSET_BITS | offset) << _LENGTH_BITS | length


def _offset(place: int) -> int:
    return place >> _LENGTH_BITS & (1 << _OFFSET_BITS) - 1


def _expiry(place: int) -> int:
    return place >> _LENGTH_BITS + _OFFSET_BITS


class ItemPartition(dict[Any, Any]):
    """The items of one partition by their sort keys, as MiniStack has them in a ``dict``."""

    __slots__ = ("_file",)

    def __init__(self, file: ItemFile) -> None:
        super().__init__()
        self._file = file

    def put(self, key: Any, item: Json, expires: int = NEVER) -> bytes:
        """Store an item that expires at a time, in seconds since the epoch; return its JSON."""
        text = json.dumps(item, separators=(",", ":")).encode()
        place = self._file.write(text, expires)
        self._free(key)
        super().__setitem__(key, place)
        return text

    def add(self, key: Any, text: bytes, expires: int) -> None:
        """Store an item as JSON, in memory until the file is flushed."""
        if key in self:
            self._free(key)
        super().__setitem__(key, self._file.add(text, expires))

    def add_of_base(self, item: StoredItem) -> None:
        """Add an item that is in the base."""
        place = _place(item.offset | _IN_BASE, len(item.text), item.expires)
        super().__setitem__(item.sk, place)

    def stored(self) -> Iterator[tuple[Any, bytes, int]]:
        """Yield the key, the JSON and the expiry of each item."""
        for key, place in super().items():
            yield key, self._file.read(place), _expiry(place)

    def expired(self, now: float) -> list[Any]:
        """Return the keys of the items that have expired."""
        return [key for key, place in super().items() if NEVER < _expiry(place) <= now]

    def __setitem__(self, key: Any, item: Json) -> None:
        self.put(key, item)

    def __getitem__(self, key: Any) -> Json:
        return self._item(super().__getitem__(key))

    def get(self, key: Any, default: Any = None) -> Any:
        """Return an item."""
        place = super().get(key)
        return default if place is None else self._item(place)

    def pop(self, key: Any, *default: Any) -> Any:
        """Remove and return an item."""
        if key not in self:
            return super().pop(key, *default)
        item = self[key]
        del self[key]
        return item

    def values(self) -> Any:
        """Return all items."""
        return [self._item(place) for place in super().values()]

    def items(self) -> Any:
        """Return all keys with their items."""
        return [(key, self._item(place)) for key, place in super().items()]

    def __iter__(self) -> Iterator[Any]:
        # A dict made of this one reads items, not places, because this method is here
        return super().__iter__()

    def __delitem__(self, key: Any) -> None:
        self._free(key)
        super().__delitem__(key)

    def __del__(self) -> None:
        for place in super().values():
            self._file.free(place)

    def __deepcopy__(self, memo: Any) -> Json:
        return dict(self.items())

    def _item(self, place: int) -> Json:
        item: Json = json.loads(self._file.read(place))
        return item

    def _free(self, key: Any) -> None:
        if key in self:
            self._file.free(super().__getitem__(key))
