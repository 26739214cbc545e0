"""Hold the partitions of a table: those that were used since the start, and the rest in the base.

MiniStack has them in a ``dict`` of ``dict``. A partition of the base is read when it is first asked
for; to go through all of them moves none into memory. Items that have expired are not read.
"""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from infrastructure.local.cloud.base_file import BaseTable, StoredItem, TableName
from infrastructure.local.cloud.changes import NEVER, Change
from infrastructure.local.cloud.item_file import ItemFile, ItemPartition


class Items(defaultdict[Any, Any]):
    """The partitions of a table whose items are in the log, under the table's name."""

    def __init__(
        self,
        name: TableName,
        file: ItemFile,
        base: BaseTable | None = None,
        partitions: dict[Any, Any] | None = None,
    ) -> None:
        super().__init__(lambda: ItemPartition(file), partitions or {})
        self.name = name
        self._file = file
        self._base = base or BaseTable()
        self._expired_before = 0.0

    def put(self, pk: str, sk: str, text: bytes, expires: int) -> None:
        """Put an item as JSON, which is in memory until the file is flushed."""
        partition = self.get(pk)
        if partition is None:
            partition = self[pk] = ItemPartition(self._file)
        partition.add(sk, text, expires)

    def discard(self, pk: str, sk: str) -> None:
        """Remove an item if it is here."""
        partition = self.get(pk, {})
        if sk in partition:
            del partition[sk]
            if not partition:
                del self[pk]

    def expired(self, now: float) -> list[tuple[Any, Any]]:
        """Return the keys of the items in memory that have expired; those of the base are gone."""
        self._expired_before = max(self._expired_before, now)
        in_memory = super().items()
        return [(pk, sk) for pk, partition in in_memory for sk in partition.expired(now)]

    def count(self) -> int:
        """Return the number of items; of the base, expired ones are among them."""
        return self._base.count + sum(map(len, super().values()))

    def changes(self) -> Iterator[Change]:
        """Yield the changes that put all items."""
        for pk, partition in super().items():
            for sk, text, expires in partition.stored():
                yield Change(("item", *self.name, pk, sk), text, expires)
        for item in filter(self._lasts, self._base.items()):
            yield Change(("item", *self.name, item.pk, item.sk), item.text, item.expires)

    def get(self, pk: Any, default: Any = None) -> Any:
        """Return a partition."""
        partition = super().get(pk)
        if partition is None and self._base.count:
            partition = self._load(pk)
        return default if partition is None else partition

    def __missing__(self, pk: Any) -> Any:
        partition = self._load(pk)
        return super().__missing__(pk) if partition is None else partition

    def __contains__(self, pk: Any) -> bool:
        return self.get(pk) is not None

    def setdefault(self, pk: Any, default: Any = None) -> Any:
        """Return a partition, which is the default if there was none."""
        self.get(pk)
        return super().setdefault(pk, default)

    def pop(self, pk: Any, *default: Any) -> Any:
        """Remove and return a partition."""
        self.get(pk)
        return super().pop(pk, *default)

    def clear(self) -> None:
        """Remove all partitions."""
        super().clear()
        self._base = BaseTable()

    def keys(self) -> Any:
        """Return the keys of all partitions."""
        return list(iter(self))

    def values(self) -> Any:
        """Return all partitions; those of the base are copies."""
        return (partition for _, partition in self.items())

    def items(self) -> Any:
        """Return all partitions with their keys; those of the base are copies."""
        yield from list(super().items())
        for items in self._lasting_partitions():
            yield items[0].pk, {item.sk: json.loads(item.text) for item in items}

    def __iter__(self) -> Iterator[Any]:
        yield from list(super().__iter__())
        for items in self._lasting_partitions():
            yield items[0].pk

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _load(self, pk: Any) -> ItemPartition | None:
        """Move a partition from the base to memory, and return it."""
        items = list(filter(self._lasts, self._base.remove(pk)))
        if not items:
            return None
        partition = ItemPartition(self._file)
        for item in items:
            partition.add_of_base(item)
        super().__setitem__(pk, partition)
        return partition

    def _lasting_partitions(self) -> Iterator[list[StoredItem]]:
        for items in self._base.partitions():
            if lasting := list(filter(self._lasts, items)):
                yield lasting

    def _lasts(self, item: StoredItem) -> bool:
        return not NEVER < item.expires <= max(self._expired_before, time.time())
