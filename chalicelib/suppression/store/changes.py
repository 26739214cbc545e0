"""Changes of one list's items, cut into transactions, with the counts that they move.

Each write is conditional on what was seen of its item as far as anything follows from it: whether
it is an entry, from which source, and which mailing lists it answers for. So counts stay exact
whoever else writes and however often something is repeated.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from chalicelib.core import dynamo
from chalicelib.core.dynamo import Item, TransactionFailed, Write
from chalicelib.suppression.store import counts
from chalicelib.suppression.store.counts import Tally
from chalicelib.suppression.store.items import Key, parts_with, table, to_entry

MOST_ACTIONS = 100  # of one transaction


class Changes:
    """Takes changes entry by entry, and applies as many at a time as one transaction holds.

    ``begin`` an entry, ``set`` its items, and so on; ``finish`` tells which entries failed.
    """

    def __init__(self, account_id: int, subaccount_id: int | None) -> None:
        self.account_id = account_id
        self._parts = parts_with(subaccount_id)
        self._items: dict[Key, tuple[Item | None, Item | None]] = {}
        self._entries: list[Key] = []
        self._failed: list[Key] = []

    def begin(self, entry: Key, touched: Collection[Key]) -> None:
        """Begin the changes for the entry at ``entry``, which are to the items ``touched``."""
        room = MOST_ACTIONS - len(self._parts)
        if len(self._items.keys() | set(touched)) > room:
            self._commit()
        self._entries.append(entry)

    def set(self, key: Key, state: dict[Key, Item], new: Item | None) -> None:
        """Change an item from what ``state`` has of it, and ``state`` with it, for what follows."""
        first_seen, _ = self._items.get(key, (state.get(key), None))
        self._items[key] = (first_seen, new)
        if new is None:
            state.pop(key, None)
        else:
            state[key] = new

    def finish(self) -> list[Key]:
        """Apply the rest; return the entries whose items others changed in between."""
        self._commit()
        return self._failed

    def _commit(self) -> None:
        writes = [_write(key, seen, new) for key, (seen, new) in self._items.items()]
        if writes:
            try:
                dynamo.transact(writes + counts.moves(self.account_id, self._parts, self._moved()))
            except TransactionFailed:
                self._failed += self._entries
        self._items, self._entries = {}, []

    def _moved(self) -> Tally:
        moved = Tally()
        for seen, new in self._items.values():
            if before := to_entry(seen):
                moved[before.kind, before.source] -= 1
            if after := to_entry(new):
                moved[after.kind, after.source] += 1
        return moved


def _write(key: Key, seen: Item | None, new: Item | None) -> Write:
    condition, values = _as_seen(seen)
    if new is None:
        return dynamo.delete(table, *key, condition=condition, values=values)
    return dynamo.put(table, new, condition=condition, values=values)


def _as_seen(item: Item | None) -> tuple[str, dict[str, Any]]:
    if item is None:
        return "attribute_not_exists(#pk)", {}
    values: dict[str, Any] = {name: item[name] for name in ("source", "lists") if name in item}
    clauses = [
        f"#{name} = :{name}" if name in values else f"attribute_not_exists(#{name})"
        for name in ("source", "lists")
    ]
    return " AND ".join(clauses), values
