"""Find the stored table of each table that MiniStack declares."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ministack.core.responses import get_account_id, get_region
from ministack.services import dynamodb

from chalicelib.core.json_types import Json
from infrastructure.local.cloud.ministack_items import MinistackItems
from infrastructure.local.cloud.store import Store
from infrastructure.local.cloud.stored_table import Name, StoredTable
from infrastructure.local.cloud.table_keys import Unusual


class Tables:
    """All tables. Those that MiniStack declares are stored once `adopt` was called."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._tables: dict[Name, StoredTable] = {}
        self._is_restored = False

    def install(self) -> None:
        """Let no query of MiniStack keep an index of its own."""
        dynamodb._index_members = _no_members
        self.adopt()

    def scope(self) -> tuple[str, str]:
        """Return account and region of the current request."""
        return get_account_id(), get_region()

    def find(self, name: Any) -> StoredTable:
        """Return a table of the current request; raises :class:`Unusual`."""
        table = self._tables.get((*self.scope(), name)) if isinstance(name, str) else None
        if table is None:
            raise Unusual
        return table

    def find_plain(self, name: Any) -> StoredTable:
        """Return a table to write to; raises :class:`Unusual`."""
        table = self.find(name)
        if not table.is_plain:
            raise Unusual
        return table

    def __iter__(self) -> Iterator[StoredTable]:
        return iter(list(self._tables.values()))

    def adopt(self) -> None:
        """Store what MiniStack has declared or filled since the last call, and drop the rest."""
        declared = dict(dynamodb._tables._data.items())
        rows = self.store.read("SELECT account, region, name, number, expiry FROM tables")
        rows_of = {(row[0], row[1], row[2]): (row[3], row[4]) for row in rows.fetchall()}
        for name in rows_of.keys() - declared.keys():
            self.store.write("DELETE FROM tables WHERE number = ?", (rows_of[name][0],))
            self.store.write(f"DROP TABLE items_{rows_of[name][0]}")
        self._tables = {
            name: self._adopted(name, description, *rows_of.get(name, (None, None)))
            for name, description in declared.items()
        }
        self._is_restored = True

    def _adopted(
        self, name: Name, description: Json, number: int | None, known_expiry: str | None
    ) -> StoredTable:
        expiry = _expiry_attribute(*name)
        if number is None:
            number = self.store.write(
                "INSERT INTO tables (account, region, name) VALUES (?, ?, ?)", name
            ).lastrowid
            assert number is not None
        table = StoredTable(self.store, number, name, description, expiry)
        table.prepare(known_expiry)
        if expiry != known_expiry:
            self.store.write("UPDATE tables SET expiry = ? WHERE number = ?", (expiry, number))
        items = description.get("items")
        if self._is_restored and not isinstance(items, MinistackItems):
            # The table is new, or was filled as a whole
            table.clear()
            for partition in (items or {}).values():
                for item in partition.values():
                    table.put(item)
        description["items"] = MinistackItems(table)
        return table


def _no_members(table: Json) -> Json:
    return {}


def _expiry_attribute(account: str, region: str, table: str) -> str:
    """Return the attribute by which a table's items expire, or nothing."""
    setting = dynamodb._ttl_settings.get_scoped(account, region, table) or {}
    enabled = setting.get("TimeToLiveStatus") == "ENABLED"
    return setting.get("AttributeName", "") if enabled else ""
