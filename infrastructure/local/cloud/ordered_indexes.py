"""Answer queries of the local cloud at a cost that grows with the answer, as in DynamoDB.

Repairs (MiniStack 1.5.33): for each query MiniStack sorts the whole partition of a table or index
and tests each item in it. A page of a partition with 50,000 items takes two seconds.

Here each partition is kept in order, and a query gets only the items that it asks for; MiniStack
then answers it as before. This serves queries for a whole partition or for a range (``BETWEEN``) of
text keys. MiniStack answers all other queries unchanged.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ministack.services import dynamodb

from chalicelib.core.json_types import Json

BaseKey = tuple[Any, Any]
Place = tuple[tuple[Any, ...], BaseKey]
# Of an index: its name, its hash keys, its range keys, and what gives the order of an item
_Layout = tuple[str, list[str], list[str], Callable[[Json], tuple[Any, ...]]]

# More than MiniStack reads for one page, which ends at 1 MB, keys included
_MOST_IN_A_PAGE = 20_000
# Partitions of a table, of which there may be very many, are kept in order from this size on
_SMALL = 50
_HIGHEST = "\U0010ffff"
_CONDITION = re.compile(
    r"\s*(#?\w+)\s*=\s*(:\w+)(?:\s+AND\s+(#?\w+)\s+BETWEEN\s+(:\w+)\s+AND\s+(:\w+))?\s*"
)


class IndexPartition(dict[BaseKey, tuple[Any, ...]]):
    """The items of one partition of an index: their keys, and where they stand in its order."""

    def __init__(self) -> None:
        super().__init__()
        self._ordered: list[Place] | None = None

    def add(self, key: BaseKey, order: tuple[Any, ...]) -> None:
        """Add an item."""
        self[key] = order
        if self._ordered is not None:
            insort(self._ordered, (order, key))

    def discard(self, key: BaseKey) -> None:
        """Remove an item if it is here."""
        order = self.pop(key, None)
        if order is not None and self._ordered is not None:
            del self._ordered[bisect_left(self._ordered, (order, key))]

    def ordered(self) -> list[Place]:
        """Return the items in order; sorted at the first call, and kept in order from then on."""
        if self._ordered is None:
            self._ordered = sorted((order, key) for key, order in self.items())
        return self._ordered


class KeyQuery(NamedTuple):
    """The query that is being answered: which items of which partition it asks for.

    ``index_name`` is empty for a partition of the table itself.
    """

    table: Json
    index_name: str
    partition: Any
    keys: list[BaseKey]
    start_key: Json | None


class _Tables:
    """MiniStack's tables, with one of them holding only the items that a query asks for."""

    def __init__(self, tables: Any, query: KeyQuery) -> None:
        self._tables = tables
        bucket = query.table["items"].get(query.partition, {})
        items = {sk: bucket[sk] for _, sk in query.keys if sk in bucket}
        self._narrowed = {**query.table, "items": {query.partition: items}}
        self._name = query.table["TableName"]

    def get(self, name: str, default: Any = None) -> Any:
        """Return a table."""
        return self._narrowed if name == self._name else self._tables.get(name, default)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tables, name)


class OrderedIndexes:
    """Replaces the index partitions that MiniStack keeps."""

    def __init__(self) -> None:
        self._query_keys: KeyQuery | None = None
        self._query: Callable[[Json], Any] = dynamodb._query
        self._evaluate: Callable[..., bool] = dynamodb._evaluate_condition

    def install(self) -> None:
        """Let MiniStack use this from now on."""
        dynamodb._query = self._answer
        dynamodb._evaluate_condition = self._holds
        dynamodb._index_members = self._members
        dynamodb._index_item = _index_item

    def _answer(self, data: Json) -> Any:
        query = self._query_keys = _key_query(data)
        tables = dynamodb._tables
        try:
            if query and not query.index_name:
                dynamodb._tables = _Tables(tables, query)
            return self._query(data)
        finally:
            dynamodb._tables = tables
            self._query_keys = None

    def _members(self, table: Json) -> Any:
        query = self._query_keys
        return {query.index_name: {query.partition: query.keys}} if query else _all_members(table)

    def _holds(self, expression: str, item: Json, *rest: Any, **options: Any) -> bool:
        query = self._query_keys
        is_key = options.get("slot") == "KeyConditionExpression"
        # The items were chosen by their keys; only the caller's start key is still unchecked
        if query and is_key and item is not query.start_key:
            return True
        return self._evaluate(expression, item, *rest, **options)


def _key_query(data: Json) -> KeyQuery | None:
    """Return what a query asks for, or ``None`` if it is not one of those served here."""
    table = dynamodb._tables.get(dynamodb._normalize_table_name(data.get("TableName")))
    condition = _CONDITION.fullmatch(data.get("KeyConditionExpression") or "")
    if not table or not condition:
        return None
    index_name = data.get("IndexName") or ""
    keys_of = {name: (hashes, ranges) for name, hashes, ranges in _schemas(table)}
    if index_name not in keys_of:
        return None
    hashes, ranges = keys_of[index_name]
    names, values = (
        data.get("ExpressionAttributeNames", {}),
        data.get("ExpressionAttributeValues", {}),
    )
    key_names = [names.get(name, name) for name in (condition[1], condition[3]) if name]
    texts = [values.get(name, {}).get("S") for name in condition.group(2, 4, 5) if name]
    is_text = all(dynamodb._get_attr_type(table, name) == "S" for name in ranges)
    if (
        key_names != [*hashes, *ranges][: len(key_names)]
        or None in texts
        or len(ranges) != 1
        or not is_text
    ):
        return None
    partition = _partition(table, index_name, texts[0])
    keys = _chosen(partition.ordered(), texts[1:], data, _order_of(table, ranges))
    return KeyQuery(table, index_name, texts[0], keys, data.get("ExclusiveStartKey"))


def _partition(table: Json, index_name: str, value: Any) -> IndexPartition:
    partitions = _all_members(table)[index_name]
    if index_name or value in partitions:
        return partitions.get(value, IndexPartition())
    bucket, partition = table["items"].get(value, {}), IndexPartition()
    order = _order_of(table, [table["sk_name"]])
    for sk, item in bucket.items():
        partition.add((value, sk), order(item))
    if len(bucket) > _SMALL:
        partitions[value] = partition
    return partition


def _schemas(table: Json) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield the name and the keys of each index, and of the table itself under no name."""
    yield "", [table["pk_name"]], [table["sk_name"]] if table["sk_name"] else []
    yield from dynamodb._index_key_schemas(table)


def _chosen(
    ordered: list[Place], bounds: list[str], data: Json, order_of: Callable[[Json], Any]
) -> list[BaseKey]:
    """Return the keys of a page's items, in any order."""
    start, end = 0, len(ordered)
    if bounds:
        start = bisect_left(ordered, ((bounds[0],),))
        end = bisect_right(ordered, ((bounds[1], _HIGHEST),))
    forward = data.get("ScanIndexForward", True)
    if begin := data.get("ExclusiveStartKey"):
        if forward:
            start = max(start, bisect_right(ordered, order_of(begin), key=_order))
        else:
            end = min(end, bisect_left(ordered, order_of(begin), key=_order))
    most = int(data.get("Limit") or _MOST_IN_A_PAGE)
    page = (
        ordered[start : min(end, start + most)]
        if forward
        else ordered[max(start, end - most) : end]
    )
    return [key for _, key in page]


def _order(place: Place) -> tuple[Any, ...]:
    return place[0]


def _order_of(table: Json, ranges: list[str]) -> Callable[[Json], tuple[Any, ...]]:
    keys = dynamodb._index_order_keys(table, ranges)
    return lambda item: tuple(dynamodb._index_order_value(item, name, kind) for name, kind in keys)


def _all_members(table: Json) -> dict[str, dict[Any, IndexPartition]]:
    members = table.get(dynamodb._INDEX_MEMBERS)
    if members is None:
        members = {name: {} for name, _, _ in _schemas(table)}
        table[dynamodb._INDEX_MEMBERS] = members
        layouts = _layouts(table)
        for base_pk, bucket in table["items"].items() if len(members) > 1 else ():
            for base_sk, item in bucket.items():
                _update(members, layouts, (base_pk, base_sk), item, add=True)
    return members


def _layouts(table: Json) -> list[_Layout]:
    return [(*schema, _order_of(table, schema[2])) for schema in _schemas(table)]


def _index_item(table: Json, base_pk: Any, base_sk: Any, item: Json, add: bool) -> None:
    members = table.get(dynamodb._INDEX_MEMBERS)
    if members is None:
        return
    layouts = _layouts(table)
    if any(name not in members for name, *_ in layouts):
        table.pop(dynamodb._INDEX_MEMBERS, None)
        return
    _update(members, layouts, (base_pk, base_sk), item, add=add)


def _update(
    members: dict[str, Any], layouts: list[_Layout], key: BaseKey, item: Json, *, add: bool
) -> None:
    for name, hashes, ranges, order_of in layouts:
        value = dynamodb._index_partition(item, hashes, ranges)
        if value is None or (not name and value not in members[name]):
            continue
        if add:
            members[name].setdefault(value, IndexPartition()).add(key, order_of(item))
        elif value in members[name]:
            members[name][value].discard(key)
            if not members[name][value]:
                del members[name][value]
