"""Give MiniStack's own handlers the items of a table as the dictionaries that they know.

MiniStack has the items of a table in a ``dict`` of partitions, each a ``dict`` by sort key.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from itertools import groupby
from typing import Any

from chalicelib.core.json_types import Json
from infrastructure.local.cloud.stored_table import NO_SORT_KEY, StoredTable
from infrastructure.local.cloud.table_keys import KeyValue, Unusual, key_value

#: What MiniStack takes for the sort key where a table has none
_NO_SORT_KEY = "__no_sort__"


class MinistackItems(MutableMapping[Any, Any]):
    """The partitions of a table by partition key."""

    def __init__(self, table: StoredTable) -> None:
        self.table = table

    def get(self, pk: Any, default: Any = None) -> Any:
        """Return a partition, which may be empty."""
        try:
            return Partition(self.table, key_value(self.table.key.hash_kind, pk))
        except Unusual:
            return default

    def setdefault(self, pk: Any, default: Any = None) -> Any:
        """Return a partition, whose items are stored when they are put there."""
        return self[pk]

    def __getitem__(self, pk: Any) -> Partition:
        return Partition(self.table, key_value(self.table.key.hash_kind, pk))

    def __setitem__(self, pk: Any, items: Json) -> None:
        partition = self[pk]
        partition.clear()
        partition.update(items)

    def __delitem__(self, pk: Any) -> None:
        self[pk].clear()

    def __contains__(self, pk: object) -> bool:
        return bool(self.get(pk, {}))

    def __iter__(self) -> Iterator[Any]:
        return (pk for pk, _ in self._partitions())

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __deepcopy__(self, _: Any) -> Json:
        return {
            pk: {self._sort_key(item): item for item in items} for pk, items in self._partitions()
        }

    def values(self) -> Any:
        """Return all partitions, as dictionaries of their own."""
        return self.__deepcopy__(None).values()

    def items(self) -> Any:
        """Return all partitions with their keys, as dictionaries of their own."""
        return self.__deepcopy__(None).items()

    def _partitions(self) -> Iterator[tuple[Any, Iterator[Json]]]:
        return groupby(list(self.table.items()), lambda item: _content(item, self.table.key.hash))

    def _sort_key(self, item: Json) -> Any:
        return _content(item, self.table.key.range) if self.table.key.range else _NO_SORT_KEY


class Partition(MutableMapping[Any, Any]):
    """The items of one partition by sort key."""

    def __init__(self, table: StoredTable, pk: KeyValue) -> None:
        self._table = table
        self._pk = pk

    def __getitem__(self, sk: Any) -> Json:
        try:
            item = self._table.item(self._pk, self._value(sk))
        except Unusual:
            item = None
        if item is None:
            raise KeyError(sk)
        return item

    def __setitem__(self, sk: Any, item: Json) -> None:
        self._table.put(item)

    def __delitem__(self, sk: Any) -> None:
        if not self._table.remove(self._pk, self._value(sk)):
            raise KeyError(sk)

    def __iter__(self) -> Iterator[Any]:
        name = self._table.key.range
        for item in list(self._table.items_of(self._pk)):
            yield _content(item, name) if name else _NO_SORT_KEY

    def __len__(self) -> int:
        return sum(1 for _ in self._table.items_of(self._pk))

    def __bool__(self) -> bool:
        return self._table.has(self._pk)

    def _value(self, sk: Any) -> KeyValue:
        kind = self._table.key.range_kind
        return key_value(kind, sk) if self._table.key.range else NO_SORT_KEY


def _content(item: Json, name: str) -> Any:
    """Return an attribute's content, as MiniStack takes it for a key."""
    return next(iter(item[name].values()))
