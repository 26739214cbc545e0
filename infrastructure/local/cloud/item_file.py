"""Keep the items of the local cloud's tables in a file, and in memory only where each one is.

Repairs (MiniStack 1.5.33):

- MiniStack keeps each item as a tree of objects, which take five times the memory of its JSON.
- MiniStack keeps the whole of each transaction for ten minutes, to recognize one that is repeated.
  Here it keeps a digest.

The file only takes the place of memory: it has no name, is new at each start and is never
synchronised. What survives is in the snapshots, which copy items from it. A child that writes a
snapshot shares the file, so the place of a removed item is not used again before the child ends.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ministack.services import dynamodb

Json = dict[str, Any]

# A place is one number: seconds at which the item expires, offset in the file, length
_LENGTH_BITS = 24
_OFFSET_BITS = 40
_NEVER = 0
_SLOT = 64


class ItemFile:
    """A file in ``directory`` whose slots are used again."""

    def __init__(self, directory: Path) -> None:
        self.descriptor, path = tempfile.mkstemp(dir=directory)
        os.unlink(path)
        self._end = 0
        self._free: defaultdict[int, list[int]] = defaultdict(list)
        self._freed_meanwhile: list[int] | None = None

    def write(self, text: bytes, expires: int = _NEVER) -> int:
        """Store ``text``; return its place."""
        size = _slot_size(len(text))
        if self._free[size]:
            offset = self._free[size].pop()
        else:
            offset, self._end = self._end, self._end + size
        os.pwrite(self.descriptor, text, offset)
        return (expires << _OFFSET_BITS | offset) << _LENGTH_BITS | len(text)

    def read(self, place: int) -> bytes:
        """Return what is stored at a place."""
        length = place & (1 << _LENGTH_BITS) - 1
        return os.pread(self.descriptor, length, _offset(place))

    def free(self, place: int) -> None:
        """Let the place be used again."""
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


def _offset(place: int) -> int:
    return place >> _LENGTH_BITS & (1 << _OFFSET_BITS) - 1


def _expiry(place: int) -> int:
    return place >> _LENGTH_BITS + _OFFSET_BITS


class Partition(dict[Any, Any]):
    """The items of one partition by their sort keys, as MiniStack has them in a ``dict``."""

    __slots__ = ("_file",)

    def __init__(self, file: ItemFile) -> None:
        super().__init__()
        self._file = file

    def put(self, key: Any, item: Json, expires: int = _NEVER) -> None:
        """Store an item that expires at a time, in seconds since the epoch."""
        self._free(key)
        text = json.dumps(item, separators=(",", ":")).encode()
        super().__setitem__(key, self._file.write(text, expires))

    def json(self) -> str:
        """Return the partition as JSON, without reading its items."""
        members = (
            f"{json.dumps(key)}:{self._file.read(place).decode()}" for key, place in super().items()
        )
        return f"{{{','.join(members)}}}"

    def expired(self, now: float) -> list[Any]:
        """Return the keys of the items that have expired."""
        return [key for key, place in super().items() if _NEVER < _expiry(place) <= now]

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


class Digest:
    """Stands in for a JSON value, and equals it."""

    __slots__ = ("_digest",)

    def __init__(self, value: Any) -> None:
        self._digest = _digest(value)

    def __eq__(self, other: object) -> bool:
        return self._digest == _digest(other)

    __hash__ = None  # type: ignore[assignment]


def _digest(value: Any) -> bytes:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).digest()


class ItemsInFile:
    """Replaces the partitions that MiniStack keeps, those that it has restored as well."""

    def __init__(self, file: ItemFile) -> None:
        self.file = file
        self._update_ttl = dynamodb._update_ttl
        self._store_token = dynamodb._txn_token_store

    def install(self) -> None:
        """Let MiniStack use this from now on."""
        for name, table in tables():
            self._move(table, expiry_attribute(*name))
        dynamodb._set_item = self._put
        dynamodb._update_ttl = self._change_expiry
        dynamodb._txn_token_store = self._keep_digest

    def _put(self, table: Json, pk: Any, sk: Any, item: Json) -> Any:
        """Store an item as MiniStack does, and with it when it expires."""
        partition = table["items"].get(pk)
        if partition is None:
            partition = table["items"][pk] = Partition(self.file)
        old_item = partition.get(sk)
        if old_item is None:
            table["ItemCount"] = table.get("ItemCount", 0) + 1
            table["TableSizeBytes"] = table["ItemCount"] * 200
        else:
            dynamodb._index_item(table, pk, sk, old_item, add=False)
        scope = dynamodb.get_account_id(), dynamodb.get_region()
        expires = _expiry_of(item, expiry_attribute(*scope, table["TableName"]))
        if isinstance(partition, Partition):
            partition.put(sk, item, expires)
        else:  # of a backup that was restored since the start
            partition[sk] = item
        dynamodb._index_item(table, pk, sk, item, add=True)
        return old_item

    def _change_expiry(self, data: Json) -> Any:
        answer = self._update_ttl(data)
        for name, table in tables():
            if name[2] == data.get("TableName"):
                self._move(table, expiry_attribute(*name))
        return answer

    def _keep_digest(self, token: str, entry: Json) -> None:
        self._store_token(token, {**entry, "signature": Digest(entry["signature"])})

    def _move(self, table: Json, attribute: str) -> None:
        for pk, items in list(table["items"].items()):
            partition = table["items"][pk] = Partition(self.file)
            for sk, item in items.items():
                partition.put(sk, item, _expiry_of(item, attribute))


def tables() -> Iterator[tuple[tuple[str, str, str], Json]]:
    """Yield all tables: account, region and name, and what MiniStack keeps of the table."""
    yield from list(dynamodb._tables._data.items())


def expiry_attribute(account: str, region: str, table: str) -> str:
    """Return the attribute by which a table's items expire, or nothing."""
    setting = dynamodb._ttl_settings.get_scoped(account, region, table) or {}
    enabled = setting.get("TimeToLiveStatus") == "ENABLED"
    return setting.get("AttributeName", "") if enabled else ""


def _expiry_of(item: Json, attribute: str) -> int:
    try:
        return max(_NEVER, int(float(item[attribute]["N"])))
    except (KeyError, ValueError, OverflowError):
        return _NEVER
