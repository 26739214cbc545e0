"""Write a base and read it, except for its items: those are read when their partition is used.

The first byte of each record (see `redo_log`) tells what it contains:

- ``C``: changes of anything but items, encoded as in a log.
- ``I``: items, encoded likewise. Adjacent items of one partition are a *run*.
- ``X``: a part of the index of one table: a line of JSON with the table's name and a number of
  items; for each run the digest of its partition's key; and for each run its place. Runs are in
  the order of their digests.
"""

from __future__ import annotations

import json
import os
from array import array
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from infrastructure.local.cloud import changes
from infrastructure.local.cloud.changes import Change
from infrastructure.local.cloud.redo_log import (
    BASE_KIND,
    FIRST_CONTENT,
    PREFIX_SIZE,
    Records,
    write_base,
)

TableName = tuple[str, str, str]

_CHANGES, _ITEMS, _INDEX = b"C", b"I", b"X"
_RECORD_SIZE = 1 << 20
_NUMBER = "Q"
_NUMBER_SIZE = 8
# A place is one number: offset in the file and length. An item has at most 400 KB.
_LENGTH_BITS = 24
_LENGTHS = (1 << _LENGTH_BITS) - 1
_BUCKET_SHIFT = 56


class StoredItem(NamedTuple):
    """An item of a base: its keys, its JSON, where that is in the file, and when it expires."""

    pk: str
    sk: str
    text: bytes
    offset: int
    expires: int


class BaseFile:
    """The base at ``path``: ``tables`` are complete when all changes were read."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self.tables: dict[TableName, BaseTable] = {}

    def changes(self) -> Iterator[Change]:
        """Yield the changes of all but items; raises `DamagedState` wherever the file is."""
        for content in Records(self._path, BASE_KIND, complete=True):
            if content.startswith(_CHANGES):
                yield from changes.decode(content[1:])
            elif content.startswith(_INDEX):
                self._add_to_index(content)

    def _add_to_index(self, content: bytes) -> None:
        line, _, numbers = content[1:].partition(b"\n")
        *name, count = json.loads(line)
        table = self.tables.setdefault(tuple(name), BaseTable(self.descriptor))
        table.add(count, numbers)


class BaseTable:
    """The items of a table that are in the base only. Those of a partition leave it together."""

    def __init__(self, descriptor: int = -1) -> None:
        self.count = 0
        self._descriptor = descriptor
        self._digests = array(_NUMBER)
        self._runs = array(_NUMBER)
        self._is_removed = bytearray()

    def add(self, count: int, numbers: bytes) -> None:
        """Add a part of the index, which tells of ``count`` items."""
        middle = len(numbers) // 2
        self.count += count
        self._digests.frombytes(numbers[:middle])
        self._runs.frombytes(numbers[middle:])
        self._is_removed += bytes(middle // _NUMBER_SIZE)

    def remove(self, pk: str) -> list[StoredItem]:
        """Return the items of a partition, which is not here any more."""
        items: list[StoredItem] = []
        for position in self._positions(pk):
            items += self._items(position)
            self._is_removed[position] = True
        self.count -= len(items)
        return items

    def partitions(self) -> Iterator[list[StoredItem]]:
        """Yield the items of each partition."""
        position = 0
        while position < len(self._runs):
            digest, partitions = self._digests[position], dict[str, list[StoredItem]]()
            while position < len(self._runs) and self._digests[position] == digest:
                for item in () if self._is_removed[position] else self._items(position):
                    partitions.setdefault(item.pk, []).append(item)
                position += 1
            yield from partitions.values()

    def items(self) -> Iterator[StoredItem]:
        """Yield all items in the order of the file."""
        runs = (
            run for run, removed in zip(self._runs, self._is_removed, strict=True) if not removed
        )
        for run in sorted(runs):
            yield from self._read(run)

    def _positions(self, pk: str) -> list[int]:
        digest = _digest(pk)
        positions = []
        position = bisect_left(self._digests, digest)
        while position < len(self._digests) and self._digests[position] == digest:
            # Two keys may have one digest
            if not self._is_removed[position] and self._items(position)[0].pk == pk:
                positions.append(position)
            position += 1
        return positions

    def _items(self, position: int) -> list[StoredItem]:
        return list(self._read(self._runs[position]))

    def _read(self, run: int) -> Iterator[StoredItem]:
        offset = run >> _LENGTH_BITS
        content = os.pread(self._descriptor, run & _LENGTHS, offset)
        for path, _, start, end, expires in changes.entries(content):
            yield StoredItem(path[4], path[5], content[start:end], offset + start, expires)


class _Index:
    """The index of a table whose items are being written."""

    def __init__(self) -> None:
        # By the first byte of the digest, so that little is sorted at a time
        self._buckets: defaultdict[int, _Bucket] = defaultdict(_Bucket)

    def add(self, pk: str, place: int, count: int) -> None:
        digest = _digest(pk)
        bucket = self._buckets[digest >> _BUCKET_SHIFT]
        bucket.count += count
        bucket.digests.append(digest)
        bucket.runs.append(place)

    def records(self, name: TableName) -> Iterator[bytes]:
        for _, bucket in sorted(self._buckets.items()):
            digests, runs = bucket.digests, bucket.runs
            order = sorted(range(len(digests)), key=digests.__getitem__)
            line = json.dumps([*name, bucket.count]).encode()
            columns = (array(_NUMBER, (each[i] for i in order)) for each in (digests, runs))
            yield b"".join((_INDEX, line, b"\n", *columns))


class _Bucket:
    __slots__ = ("count", "digests", "runs")

    def __init__(self) -> None:
        self.count = 0
        self.digests, self.runs = array(_NUMBER), array(_NUMBER)


def write(path: Path, state: Iterable[Change]) -> None:
    """Write the changes that make a state of nothing; raises OSError."""
    write_base(path, _Records().of(state))


class _Records:
    """The records of a base, as far as they are written."""

    def __init__(self) -> None:
        # Of the next record's content
        self._offset = FIRST_CONTENT
        self._others = bytearray(_CHANGES)
        self._items = bytearray(_ITEMS)
        self._indexes: defaultdict[TableName, _Index] = defaultdict(_Index)
        self._partition: tuple[str, ...] = ()
        self._start = len(_ITEMS)
        self._count = 0

    def of(self, state: Iterable[Change]) -> Iterator[bytes]:
        for change in state:
            if change.path[0] == "item":
                self._add_item(change)
            else:
                self._others += changes.encode(change)
            if len(self._items) + len(self._others) > _RECORD_SIZE:
                yield from self._both_records()
        yield from self._both_records()
        for name, index in self._indexes.items():
            yield from index.records(name)

    def _add_item(self, change: Change) -> None:
        partition = change.path[1:5]
        if partition != self._partition:
            self._end_run()
            self._partition = partition
        self._items += changes.encode(change)
        self._count += 1

    def _both_records(self) -> Iterator[bytes]:
        # The runs so far are in the next record
        self._end_run()
        yield self._record(self._items, _ITEMS)
        yield self._record(self._others, _CHANGES)
        self._start = len(_ITEMS)

    def _end_run(self) -> None:
        if self._count:
            *name, pk = self._partition
            place = self._offset + self._start << _LENGTH_BITS | len(self._items) - self._start
            self._indexes[tuple(name)].add(pk, place, self._count)  # type: ignore[index]
        self._start, self._count = len(self._items), 0

    def _record(self, buffer: bytearray, kind: bytes) -> bytes:
        record = bytes(buffer)
        buffer[:] = kind
        self._offset += PREFIX_SIZE + len(record)
        return record


def _digest(pk: str) -> int:
    key = pk.encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(key, digest_size=_NUMBER_SIZE).digest(), "big")
