"""Keep the items of tables in the item file, and note each change of an item for the log.

Repairs (MiniStack 1.5.33):

- MiniStack keeps each item as a tree of objects, which take five times the memory of its JSON.
- MiniStack keeps the whole of each transaction for ten minutes, to recognize one that is repeated.
  Here it keeps a digest.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from ministack.services import dynamodb

from chalicelib.core.json_types import Json
from infrastructure.local.cloud.base_file import TableName
from infrastructure.local.cloud.changes import NEVER, Change
from infrastructure.local.cloud.item_file import ItemFile, ItemPartition
from infrastructure.local.cloud.items import Items
from infrastructure.local.cloud.journal import ChangeJournal


class Digest:
    """Stands in for a JSON value, and equals it."""

    __slots__ = ("text",)

    def __init__(self, value: Any) -> None:
        self.text = _digest(value)

    @classmethod
    def of_text(cls, text: str) -> Digest:
        """Return the digest whose ``text`` is this."""
        digest = cls(None)
        digest.text = text
        return digest

    def __eq__(self, other: object) -> bool:
        return self.text == _digest(other)

    __hash__ = None  # type: ignore[assignment]


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


class ItemsInFile:
    """Replaces the partitions that MiniStack keeps, and notes each change of an item."""

    def __init__(self, file: ItemFile, journal: ChangeJournal) -> None:
        self._file = file
        self._journal = journal
        self._update_ttl = dynamodb._update_ttl
        self._store_token = dynamodb._txn_token_store
        self._remove_item = dynamodb._remove_item

    def install(self) -> None:
        """Let MiniStack use this from now on."""
        dynamodb._set_item = self._put
        dynamodb._remove_item = self._remove
        dynamodb._update_ttl = self._change_expiry
        dynamodb._txn_token_store = self._keep_digest

    def adopt(self) -> None:
        """Note all items of the tables that were created or filled otherwise than item by item."""
        for name, table in tables():
            if isinstance(table["items"], Items):
                continue
            self._move(table, expiry_attribute(*name))
            items = table["items"] = Items(name, self._file, partitions=table["items"])
            self._journal.remove(("item", *name))
            for change in items.changes():
                self._journal.note(change)

    def _put(self, table: Json, pk: Any, sk: Any, item: Json) -> Any:
        """Store an item as MiniStack does, and with it when it expires."""
        items = table["items"]
        scope = dynamodb.get_account_id(), dynamodb.get_region()
        attribute = expiry_attribute(*scope, table["TableName"])
        partition = items.get(pk)
        if not isinstance(partition, ItemPartition):
            partition = items[pk] = self._moved(partition or {}, attribute)
        old_item = partition.get(sk)
        if old_item is None:
            table["ItemCount"] = table.get("ItemCount", 0) + 1
            table["TableSizeBytes"] = table["ItemCount"] * 200
        else:
            dynamodb._index_item(table, pk, sk, old_item, add=False)
        expires = _expiry_of(item, attribute)
        text = partition.put(sk, item, expires)
        if isinstance(items, Items):
            self._journal.note(Change(("item", *items.name, pk, sk), text, expires))
        dynamodb._index_item(table, pk, sk, item, add=True)
        return old_item

    def _remove(self, table: Json, pk: Any, sk: Any) -> Any:
        old_item = self._remove_item(table, pk, sk)
        items = table["items"]
        if old_item is not None and isinstance(items, Items):
            self._journal.remove(("item", *items.name, pk, sk))
        return old_item

    def _change_expiry(self, data: Json) -> Any:
        answer = self._update_ttl(data)
        for name, table in tables():
            if name[2] == data.get("TableName"):
                self._move(table, expiry_attribute(*name))
        return answer

    def _keep_digest(self, token: str, entry: Json) -> None:
        self._store_token(token, {**entry, "signature": Digest(entry["signature"])})
        scope = dynamodb.get_account_id(), dynamodb.get_region()
        self._journal.note(token_change((*scope, token), dynamodb._txn_idempotency[token]))

    def _move(self, table: Json, attribute: str) -> None:
        """Store the items of a table anew."""
        partitions = {pk: self._moved(items, attribute) for pk, items in table["items"].items()}
        table["items"] = defaultdict(dict, partitions)

    def _moved(self, items: Any, attribute: str) -> ItemPartition:
        partition = ItemPartition(self._file)
        for sk, item in items.items():
            partition.put(sk, item, _expiry_of(item, attribute))
        return partition


def token_change(token: tuple[str, str, str], entry: Json) -> Change:
    """Return the change that puts the token of a transaction."""
    value = {**entry, "signature": entry["signature"].text}
    return Change(("token", *token), json.dumps(value).encode())


def tables() -> Iterator[tuple[TableName, Json]]:
    """Yield all tables: account, region and name, and what MiniStack keeps of the table."""
    yield from list(dynamodb._tables._data.items())


def expiry_attribute(account: str, region: str, table: str) -> str:
    """Return the attribute by which a table's items expire, or nothing."""
    setting = dynamodb._ttl_settings.get_scoped(account, region, table) or {}
    enabled = setting.get("TimeToLiveStatus") == "ENABLED"
    return setting.get("AttributeName", "") if enabled else ""


def _expiry_of(item: Json, attribute: str) -> int:
    try:
        return max(NEVER, int(float(item[attribute]["N"])))
    except (KeyError, ValueError, OverflowError):
        return NEVER
