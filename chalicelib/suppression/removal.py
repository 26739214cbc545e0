"""Removing a recipient's entries: chosen from what is there, in transactions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable

from chalicelib.core.dynamo import Item
from chalicelib.core.errors import Unavailable, not_permitted
from chalicelib.core.scope import Scope
from chalicelib.suppression.model import COMPLIANCE, Entry
from chalicelib.suppression.store.changes import Changes
from chalicelib.suppression.store.items import Key, read_recipient, to_entry
from chalicelib.suppression.store.lookup_items import slot_of, without_entry, without_list

_ATTEMPTS = 20


def remove(
    scope: Scope, recipient: str, chosen: Callable[[Entry], bool], *, by_customer: bool
) -> int:
    """Remove the chosen entries from the lists in ``scope``; return how many there were.

    Raises 403, and removes nothing, if a customer's choice has an entry of compliance.
    """
    removed = 0
    for _ in range(_ATTEMPTS):
        state = read_recipient(scope, recipient)
        entries = {key: entry for key, item in state.items() if (entry := to_entry(item))}
        going = {key: entry for key, entry in entries.items() if chosen(entry)}
        if by_customer and any(entry.source == COMPLIANCE for entry in going.values()):
            raise not_permitted("Recipient could not be removed - Compliance")
        by_list: dict[int | None, list[Key]] = defaultdict(list)
        for key, entry in going.items():
            by_list[entry.subaccount_id].append(key)
        failed = sum(
            _take_away(Changes(scope.account_id, subaccount_id), state, keys)
            for subaccount_id, keys in by_list.items()
        )
        removed += len(going) - failed
        if not failed:
            return removed
    raise Unavailable


def _take_away(changes: Changes, state: dict[Key, Item], keys: Iterable[Key]) -> int:
    """Remove the entries at ``keys``; return how many met another writer's change."""
    for key in keys:
        slot = slot_of(key)
        changes.begin(key, {key, slot})
        if slot == key:
            changes.set(key, state, without_entry(state[key]))
        else:
            changes.set(key, state, None)
            if slot in state:
                changes.set(slot, state, without_list(state[slot], key))
    return len(changes.finish())
