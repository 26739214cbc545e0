"""Remove a recipient's entries from suppression lists."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence

from chalicelib.core import audit
from chalicelib.core.dynamo import Write, WriteConflict, retry_conflicts
from chalicelib.core.errors import NotFound, not_permitted
from chalicelib.core.scope import PRIMARY, Scope
from chalicelib.suppression.model import COMPLIANCE, SuppressionEntry, shown_fields
from chalicelib.suppression.store.changes import Changes
from chalicelib.suppression.store.items import Key, SuppressionItem, read_recipient, to_entry
from chalicelib.suppression.store.lookup_items import lookup_key_for, without_entry, without_list


def remove(
    account_id: int,
    subaccount_id: int | None,
    recipient: str,
    types: Collection[str],
    list_id: str | None = None,
) -> None:
    """Remove a recipient's entries of these types from one list (spec 4.8 rules 5 and 6).

    ``list_id`` narrows to the entry for a mailing list, or if empty to the account-wide ones.
    Raises 404 if there are none, and 403, and removes nothing, if one was added by compliance.
    """
    only_list = None if list_id is None else list_id.lower()

    def matches(entry: SuppressionEntry) -> bool:
        return entry.type in types and only_list in (None, entry.list_id.lower())

    scope = Scope(account_id, subaccount_id or PRIMARY)
    if not _remove(scope, recipient, matches, by_customer=True):
        raise NotFound("Recipient could not be found")


def erase(scope: Scope, recipient: str, *, compliance: bool = False) -> int:
    """Remove a recipient's entries from all lists in a scope; return how many there were.

    Those added by compliance stay, unless ``compliance`` is true.
    """

    def matches(entry: SuppressionEntry) -> bool:
        return compliance or entry.source != COMPLIANCE

    return _remove(scope, recipient, matches, by_customer=False)


def _remove(
    scope: Scope, recipient: str, matches: Callable[[SuppressionEntry], bool], *, by_customer: bool
) -> int:
    """Remove the matching entries from the lists in ``scope``; return how many there were.

    Raises 403, and removes nothing, if a customer would remove an entry of compliance.
    """
    removed, is_logged = 0, False

    def attempt() -> int:
        nonlocal removed, is_logged
        items = read_recipient(scope, recipient)
        entries = {
            key: entry
            for key, item in items.items()
            if (entry := to_entry(item)) and matches(entry)
        }
        if by_customer and any(entry.source == COMPLIANCE for entry in entries.values()):
            raise not_permitted("Recipient could not be removed - Compliance")
        keys_by_owner: dict[int | None, list[Key]] = defaultdict(list)
        for key, entry in entries.items():
            keys_by_owner[entry.subaccount_id].append(key)
        line: Sequence[Write] = ()
        if not is_logged:
            line = audit.line(recipient, shown_fields(entries.values()), None)
        failures = 0
        for subaccount_id, keys in keys_by_owner.items():
            changes = Changes(scope.account_id, subaccount_id, line)
            failures += _apply(changes, items, keys)
            line = changes.line
        is_logged = not line
        removed += len(entries) - failures
        if failures:
            raise WriteConflict
        return removed

    return retry_conflicts(attempt)


def _apply(changes: Changes, items: dict[Key, SuppressionItem], keys: Iterable[Key]) -> int:
    """Remove the entries at ``keys``; return how many of them others changed in between."""
    for key in keys:
        lookup_key = lookup_key_for(key)
        changes.begin(key, {key, lookup_key})
        if lookup_key == key:
            changes.set(key, items, without_entry(items[key]))
        else:
            changes.set(key, items, None)
            if lookup_key in items:
                changes.set(lookup_key, items, without_list(items[lookup_key], key))
    return len(changes.finish())
