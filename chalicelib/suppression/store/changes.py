"""Apply changes of one list's entries in transactions, each with the counts that it moves.

Each write is conditional on those facts about its item that decided the change: whether it is an
entry, from which source, and for which mailing lists it is a lookup item. So the counts stay exact
when others write at the same time and when a change is repeated.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from chalicelib.core import dynamo
from chalicelib.core.dynamo import TransactionFailed, Write, attributes_of
from chalicelib.suppression.model import Tally
from chalicelib.suppression.store import counts
from chalicelib.suppression.store.items import Key, SuppressionItem, parts_with, table, to_entry

MOST_ACTIONS = 100  # of one transaction


class Changes:
    """Collects changes entry by entry, and applies them as soon as a transaction is full.

    The first transaction also writes ``line``, the line of the audit log about all of them; after
    it ``line`` is empty.

    ``begin`` an entry, ``set`` its items, and so on; ``finish`` returns the entries that failed.
    """

    def __init__(
        self, account_id: int, subaccount_id: int | None, line: Sequence[Write] = ()
    ) -> None:
        self.account_id = account_id
        self.line = line
        self._parts = parts_with(subaccount_id)
        self._items: dict[Key, tuple[SuppressionItem | None, SuppressionItem | None]] = {}
        self._entries: list[Key] = []
        self._failures: list[Key] = []

    def begin(self, entry: Key, keys: Collection[Key]) -> None:
        """Begin the changes for the entry at ``entry``, which are to the items at ``keys``."""
        capacity = MOST_ACTIONS - len(self._parts) - len(self.line)
        if len(self._items.keys() | set(keys)) > capacity:
            self._commit()
        self._entries.append(entry)

    def set(self, key: Key, state: dict[Key, SuppressionItem], new: SuppressionItem | None) -> None:
        """Replace an item of ``state`` by ``new``, in the table and in ``state`` itself.

        ``None`` removes it. Later changes start from what ``state`` then holds.
        """
        old, _ = self._items.get(key, (state.get(key), None))
        self._items[key] = (old, new)
        if new is None:
            state.pop(key, None)
        else:
            state[key] = new

    def finish(self) -> list[Key]:
        """Apply the rest; return the entries whose items others changed in between."""
        self._commit()
        return self._failures

    def _commit(self) -> None:
        writes = [_write(key, old, new) for key, (old, new) in self._items.items()]
        if writes:
            additions = counts.additions(self.account_id, self._parts, self._count_changes())
            try:
                dynamo.transact([*writes, *additions, *self.line])
                self.line = ()
            except TransactionFailed:
                self._failures += self._entries
        self._items, self._entries = {}, []

    def _count_changes(self) -> Tally:
        changes = Tally()
        for old, new in self._items.values():
            if entry := to_entry(old):
                changes[entry.kind, entry.source] -= 1
            if entry := to_entry(new):
                changes[entry.kind, entry.source] += 1
        return changes


def _write(key: Key, old: SuppressionItem | None, new: SuppressionItem | None) -> Write:
    condition, values = _unchanged(old)
    if new is None:
        return dynamo.delete(table, *key, condition=condition, values=values)
    return dynamo.put(table, new, condition=condition, values=values)


def _unchanged(item: SuppressionItem | None) -> tuple[str, dict[str, Any]]:
    if item is None:
        return "attribute_not_exists(#pk)", {}
    values = attributes_of(item, ("source", "lists"))
    clauses = [
        f"#{name} = :{name}" if name in values else f"attribute_not_exists(#{name})"
        for name in ("source", "lists")
    ]
    return " AND ".join(clauses), values
