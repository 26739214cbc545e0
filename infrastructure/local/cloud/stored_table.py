"""Keep the items of one DynamoDB table in a table of the store.

Each secondary index has columns for its keys, and an index of SQLite on them: so SQLite keeps the
entries. An item that lacks a key of a secondary index has no entry there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any, NamedTuple

from chalicelib.core.json_types import Json
from infrastructure.local.cloud import json_text
from infrastructure.local.cloud.item_sizes import item_size
from infrastructure.local.cloud.store import Store
from infrastructure.local.cloud.table_keys import (
    LONGEST_PK,
    LONGEST_SK,
    KeyValue,
    Unusual,
    is_longer,
    value_of,
)

NEVER = 0
#: The value of the missing sort key of an item
NO_SORT_KEY = ""
_LATEST = 1 << 62
_PAGE_BYTES = 1 << 20

Name = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Index:
    """The keys of a table (without a name) or of a secondary index: attributes and columns.

    ``projected`` are the attributes that it shows, or ``None`` for all.
    """

    name: str
    hash: str
    hash_kind: str
    range: str
    range_kind: str
    is_global: bool = False
    projected: frozenset[str] | None = None

    @property
    def columns(self) -> tuple[str, str]:
        """Return the names of the columns, quoted."""
        if not self.name:
            return "pk", "sk"
        return f'"{self.name} hash"', f'"{self.name} range"'

    def values(self, item: Mapping[str, Any]) -> tuple[KeyValue | None, KeyValue | None]:
        """Return the values of an item's keys, or nothing; raises :class:`Unusual`."""
        if self.hash not in item or (self.range and self.range not in item):
            return None, None
        sort = value_of(item[self.range], self.range_kind) if self.range else NO_SORT_KEY
        return value_of(item[self.hash], self.hash_kind), sort


class Span(NamedTuple):
    """What a query asks for: a partition of an index, and the sort keys between two bounds.

    A bound is a value and whether it is excluded. ``start`` is where the page before ended: the
    sort key in the index, and the keys of the table.
    """

    partition: KeyValue
    low: tuple[KeyValue, bool] | None = None
    high: tuple[KeyValue, bool] | None = None
    start: tuple[KeyValue, ...] | None = None
    descending: bool = False


class StoredTable:
    """The items of the table ``name``, which MiniStack describes by ``table``."""

    def __init__(self, store: Store, number: int, name: Name, table: Json, expiry: str) -> None:
        self.store = store
        self.name = name
        self.table = table
        self.expiry = expiry
        self.indexes = {index.name: index for index in _indexes(table)}
        self.key = self.indexes.pop("")
        # What writing does besides, and indexes of several attributes, are left to MiniStack
        self.is_plain = not (
            (table.get("StreamSpecification") or {}).get("StreamEnabled")
            or table.get("Replicas")
            or table.get("VectorIndexes")
            or table.get("KinesisDestinations")
        )
        self._rows = f"items_{number}"
        self._get = f"SELECT item FROM {self._rows} WHERE pk = ? AND sk = ?"
        self._remove = f"DELETE FROM {self._rows} WHERE pk = ? AND sk = ?"
        columns = ["pk", "sk", "expires", "size", "item"]
        columns += [column for index in self.indexes.values() for column in index.columns]
        self._put = (
            f"INSERT INTO {self._rows} ({', '.join(columns)}) "
            f"VALUES ({', '.join('?' * len(columns))}) ON CONFLICT (pk, sk) DO UPDATE SET "
            + ", ".join(f"{column} = excluded.{column}" for column in columns[2:])
        )

    def prepare(self, known_expiry: str | None) -> None:
        """Let the rows have what the table's description says.

        ``known_expiry`` is the attribute by which they expired, or ``None`` without rows.
        """
        store, rows = self.store, self._rows
        if known_expiry is None:
            store.write(
                f"CREATE TABLE {rows} (number INTEGER PRIMARY KEY, pk, sk, expires INTEGER, "
                "size INTEGER, item TEXT)"
            )
            store.write(f"CREATE UNIQUE INDEX {rows}_by_key ON {rows} (pk, sk)")
            store.write(
                f"CREATE INDEX {rows}_by_expiry ON {rows} (expires) WHERE expires > {NEVER}"
            )
        columns = {row[1] for row in store.read(f"PRAGMA table_info({rows})")}
        hashes = {f"{name} hash" for name in self.indexes}
        for column in {each for each in columns if each.endswith(" hash")} - hashes:
            name = column.removesuffix(" hash")
            store.write(f'DROP INDEX "{rows} {name}"')
            for side in ("hash", "range"):
                store.write(f'ALTER TABLE {rows} DROP COLUMN "{name} {side}"')
        new = [index for index in self.indexes.values() if f"{index.name} hash" not in columns]
        for index in new:
            hash_column, range_column = index.columns
            for column in index.columns:
                store.write(f"ALTER TABLE {rows} ADD COLUMN {column}")
            store.write(
                f'CREATE INDEX "{rows} {index.name}" ON {rows} '
                f"({hash_column}, {range_column}, pk, sk) WHERE {hash_column} IS NOT NULL"
            )
        if known_expiry is not None and (new or known_expiry != self.expiry):
            for item in list(self.items()):
                self.put(item)

    def clear(self) -> None:
        """Remove all items."""
        self.store.write(f"DELETE FROM {self._rows}")

    def keys_of(self, item: Any) -> tuple[KeyValue, KeyValue]:
        """Return the values of the keys in an item or key; raises :class:`Unusual`."""
        pk, sk = self.key.values(item) if isinstance(item, dict) else (None, None)
        if pk is None or sk is None or is_longer(pk, LONGEST_PK) or is_longer(sk, LONGEST_SK):
            raise Unusual
        return pk, sk

    def keys_alone(self, key: Any) -> tuple[KeyValue, KeyValue]:
        """Return the values of a key that has nothing else; raises :class:`Unusual`."""
        values = self.keys_of(key)
        if len(key) != 1 + bool(self.key.range):
            raise Unusual
        return values

    def text(self, pk: KeyValue, sk: KeyValue) -> str | None:
        """Return the JSON of an item."""
        row = self.store.read(self._get, (pk, sk)).fetchone()
        return row[0] if row else None

    def item(self, pk: KeyValue, sk: KeyValue) -> Json | None:
        """Return an item."""
        text = self.text(pk, sk)
        return None if text is None else json_text.loads(text)

    def put(self, item: Json) -> None:
        """Put an item that MiniStack has found valid; raises :class:`Unusual` for its key."""
        keys = self.keys_of(item)
        try:
            row = self.row(item, keys, item_size(item))
        except Unusual:
            text = json_text.dumps(item)
            row = [*keys, self._expires(item), len(text), text]
            for index in self.indexes.values():
                row += _values_if_valid(index, item)
        self.put_row(row)

    def row(self, item: Json, keys: tuple[KeyValue, KeyValue], size: int) -> list[Any]:
        """Return the values of an item's columns; raises :class:`Unusual`."""
        values: list[Any] = [*keys, self._expires(item), size, json_text.dumps(item)]
        for index in self.indexes.values():
            values += index.values(item)
        return values

    def put_row(self, row: list[Any]) -> None:
        """Put an item whose columns have these values."""
        self.store.write(self._put, row)

    def remove(self, pk: KeyValue, sk: KeyValue) -> bool:
        """Remove an item; tell whether it was there."""
        return self.store.write(self._remove, (pk, sk)).rowcount > 0

    def expire(self, now: float, most: int) -> int:
        """Remove items that have expired, at most so many; return their number."""
        sql = (
            f"DELETE FROM {self._rows} WHERE number IN (SELECT number FROM {self._rows} "
            f"WHERE expires > {NEVER} AND expires <= ? LIMIT ?)"
        )
        return self.store.write(sql, (int(now), most)).rowcount

    def page(
        self, index: Index, span: Span, limit: int | None, *, shows_all: bool = True
    ) -> tuple[list[str], bool]:
        """Return the JSON of the items that a query reads, and whether it may go on behind them.

        A page ends at ``limit`` or at 1 MB. ``shows_all`` tells whether items are not cut.
        """
        sql, values = self._query(index, span, limit)
        return self._read_page(sql, values, limit, None if shows_all else index)

    def scan(
        self, start: tuple[KeyValue, KeyValue] | None, limit: int | None
    ) -> tuple[list[str], bool]:
        """Return a page of all items, in the order of their keys, as :meth:`page` does.

        ``start`` are the keys of the item that the page before ended with.
        """
        condition = "" if start is None else "WHERE (pk, sk) > (?, ?) "
        sql = f"SELECT item, size FROM {self._rows} {condition}ORDER BY pk, sk LIMIT ?"
        return self._read_page(sql, [*(start or ()), -1 if limit is None else limit], limit, None)

    def _read_page(
        self, sql: str, values: list[Any], limit: int | None, cut: Index | None
    ) -> tuple[list[str], bool]:
        """Return rows until a page is full; sizes are of what the index ``cut`` shows."""
        texts: list[str] = []
        size = 0
        with closing(self.store.read(sql, values)) as rows:
            for text, stored_size in rows:
                if cut is not None:
                    stored_size = item_size(shown(json_text.loads(text), cut))
                if texts and size + stored_size > _PAGE_BYTES:
                    return texts, True
                texts.append(text)
                size += stored_size
                if size >= _PAGE_BYTES:
                    return texts, True
        return texts, limit is not None and len(texts) >= limit

    def items(self) -> Iterator[Json]:
        """Yield all items in the order of their keys."""
        for (text,) in self.store.read(f"SELECT item FROM {self._rows} ORDER BY pk, sk"):
            yield json_text.loads(text)

    def items_of(self, pk: KeyValue) -> Iterator[Json]:
        """Yield the items of one partition in the order of their sort keys."""
        sql = f"SELECT item FROM {self._rows} WHERE pk = ? ORDER BY sk"
        for (text,) in self.store.read(sql, (pk,)):
            yield json_text.loads(text)

    def has(self, pk: KeyValue) -> bool:
        """Tell whether a partition has items."""
        sql = f"SELECT 1 FROM {self._rows} WHERE pk = ? LIMIT 1"
        return self.store.read(sql, (pk,)).fetchone() is not None

    def count(self) -> int:
        """Return the number of items."""
        row = self.store.read(f"SELECT COUNT(*) FROM {self._rows}").fetchone()
        return int(row[0])

    def _query(self, index: Index, span: Span, limit: int | None) -> tuple[str, list[Any]]:
        hash_column, range_column = index.columns
        sign, order = ("<", "DESC") if span.descending else (">", "ASC")
        conditions, values = [f"{hash_column} = ?"], [span.partition]
        for bound, side in ((span.low, ">"), (span.high, "<")):
            if bound is not None:
                value, is_excluded = bound
                conditions.append(f"{range_column} {side}{'' if is_excluded else '='} ?")
                values.append(value)
        keys = [range_column, "pk", "sk"] if index.name else ["sk"]
        if span.start is not None:
            conditions.append(f"({', '.join(keys)}) {sign} ({', '.join('?' * len(keys))})")
            values += span.start
        ordering = ", ".join(f"{key} {order}" for key in keys)
        values.append(-1 if limit is None else limit)  # type: ignore[arg-type]
        return (
            f"SELECT item, size FROM {self._rows} WHERE {' AND '.join(conditions)} "
            f"ORDER BY {ordering} LIMIT ?"
        ), values

    def _expires(self, item: Json) -> int:
        try:
            return min(_LATEST, max(NEVER, int(float(item[self.expiry]["N"]))))
        except (KeyError, ValueError, OverflowError):
            return NEVER


def shown(item: Json, index: Index) -> Json:
    """Return what an index shows of an item."""
    if index.projected is None:
        return item
    return {name: value for name, value in item.items() if name in index.projected}


def _values_if_valid(index: Index, item: Json) -> tuple[KeyValue | None, KeyValue | None]:
    try:
        return index.values(item)
    except Unusual:
        return None, None


def _indexes(table: Json) -> Iterator[Index]:
    """Yield the keys of a table and of its secondary indexes, but for those of several keys."""
    kinds = {each["AttributeName"]: each["AttributeType"] for each in table["AttributeDefinitions"]}
    key = [table["pk_name"], table["sk_name"] or ""]
    yield Index("", key[0], kinds.get(key[0], "S"), key[1], kinds.get(key[1], "S"))
    for kind in ("GlobalSecondaryIndexes", "LocalSecondaryIndexes"):
        for each in table.get(kind) or ():
            keys: dict[str, list[str]] = {"HASH": [], "RANGE": []}
            for element in each["KeySchema"]:
                keys[element["KeyType"]].append(element["AttributeName"])
            if len(keys["HASH"]) != 1 or len(keys["RANGE"]) > 1 or '"' in each["IndexName"]:
                continue
            (hash_name,), (range_name,) = keys["HASH"], keys["RANGE"] or [""]
            projection = each.get("Projection") or {}
            projected = None
            if projection.get("ProjectionType", "ALL") != "ALL":
                others = projection.get("NonKeyAttributes") or ()
                projected = frozenset({*key, hash_name, range_name, *others} - {""})
            yield Index(
                each["IndexName"],
                hash_name,
                kinds.get(hash_name, "S"),
                range_name,
                kinds.get(range_name, "S"),
                kind == "GlobalSecondaryIndexes",
                projected,
            )
