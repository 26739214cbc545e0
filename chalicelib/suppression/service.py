"""Write entries of a suppression list, for the service itself and for callers of the API.

A write reads the present items, decides by a rule, and writes in transactions; it is repeated for
the entries that others changed in between. A bulk load of n account-wide entries takes n/100 reads
and about n/99 transactions. An entry for a mailing list may be two items (its own and its lookup
item), which takes twice as many. A load that fails half-way can be repeated from its start (spec
4.8 rule 2). Recipients may be in any case.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from typing import Final

from chalicelib.core import audit
from chalicelib.core.dynamo import Write, WriteConflict, retry_conflicts
from chalicelib.core.errors import ApiError, bad_request, not_permitted
from chalicelib.suppression.model import (
    COMPLIANCE,
    MOST_ENTRIES,
    SuppressionEntry,
    shown_fields,
)
from chalicelib.suppression.request import joined_names
from chalicelib.suppression.store import counts
from chalicelib.suppression.store.changes import Changes
from chalicelib.suppression.store.items import Key, SuppressionItem, key_of, read, to_entry, to_item
from chalicelib.suppression.store.lookup_items import list_at, lists_of, lookup_key_for, with_list

#: the mailing lists that one recipient may have entries of one type for
MOST_LISTS = 1000
_REFUSAL: Final = "Recipient could not be updated - Compliance"

Items = Mapping[Key, SuppressionItem]
Entries = Mapping[Key, SuppressionEntry]
#: returns the entry to write, from the present one (if any) and the new one; ``None`` for no write
Rule = Callable[[SuppressionEntry | None, SuppressionEntry], SuppressionEntry | None]
#: looks at the present items and the new entries before anything is written, and may raise
Check = Callable[[int, Items, Entries], None]


def add_all(
    account_id: int, subaccount_id: int | None, entries: Iterable[SuppressionEntry]
) -> None:
    """Add entries of one list that follow from mail; those that exist already stay as they are.

    So adding them again changes nothing. The limits do not apply. Takes about one request for 50.
    """
    _write(account_id, subaccount_id, entries, _keep_present, _no_check)


def put_all(
    account_id: int, subaccount_id: int | None, entries: Iterable[SuppressionEntry]
) -> None:
    """Create or update entries of one list, as customers may.

    Raises 403, and writes nothing, if one of them was added by compliance, and 400 where a limit
    would be exceeded.
    """
    _write(account_id, subaccount_id, entries, _update, _check_customer_may)


def load_all(
    account_id: int, subaccount_id: int | None, entries: Collection[SuppressionEntry]
) -> ApiError | None:
    """Create or update entries of one list in bulk, as customers may.

    Entries that compliance added stay as they are. Returns the error that names them, if there are
    any, and raises it (403) if there are no others. Raises 400, and writes nothing, where a limit
    would be exceeded.
    """
    unwritten = _write(account_id, subaccount_id, entries, _update_own, _check_limits)
    if not unwritten:
        return None
    recipients = list(dict.fromkeys(entry.recipient for entry in unwritten))
    text = f"PUT body contains {len(recipients)} recipient(s) that compliance added: "
    error = not_permitted(_REFUSAL, description=text + joined_names(recipients))
    if len(unwritten) == len({key_of(account_id, entry) for entry in entries}):
        raise error
    return error


def impose_all(
    account_id: int, subaccount_id: int | None, entries: Iterable[SuppressionEntry]
) -> None:
    """Write entries of one list over the present ones, as the operator may.

    Raises 400 where a limit would be exceeded.
    """
    _write(account_id, subaccount_id, entries, _replace, _check_limits)


def _keep_present(old: SuppressionEntry | None, new: SuppressionEntry) -> SuppressionEntry | None:
    return None if old else new


def _update(old: SuppressionEntry | None, new: SuppressionEntry) -> SuppressionEntry:
    """Change only the description, if the new entry has one."""
    if old is None:
        return new
    description = old.description if new.description is None else new.description
    return replace(new, source=old.source, created_ms=old.created_ms, description=description)


def _update_own(old: SuppressionEntry | None, new: SuppressionEntry) -> SuppressionEntry | None:
    """Change an entry as :func:`_update` does, unless compliance added it (spec 4.8 rule 1)."""
    return None if old and old.source == COMPLIANCE else _update(old, new)


def _replace(old: SuppressionEntry | None, new: SuppressionEntry) -> SuppressionEntry:
    """Replace the present entry, its source included."""
    return replace(new, created_ms=old.created_ms) if old else new


def _no_check(account_id: int, items: Items, entries: Entries) -> None:
    pass


def _check_limits(account_id: int, items: Items, entries: Entries) -> None:
    """Raise 400 if there would be more entries than an account can have (spec 8)."""
    new = [key for key in entries if to_entry(items.get(key)) is None]
    list_counts = Counter(lookup_key_for(key) for key in new if list_at(key))
    for lookup_key, number in list_counts.items():
        if len(lists_of(items.get(lookup_key))) + number > MOST_LISTS:
            raise bad_request(f"A recipient can have entries for at most {MOST_LISTS} list_ids")
    if new and counts.of_account(account_id) + len(new) > MOST_ENTRIES:
        raise bad_request(f"A suppression list can hold at most {MOST_ENTRIES} entries")


def _check_customer_may(account_id: int, items: Items, entries: Entries) -> None:
    """Raise 403 for entries of compliance (spec 4.8 rule 1), and 400 over a limit."""
    present = (to_entry(items.get(key)) for key in entries)
    if any(entry and entry.source == COMPLIANCE for entry in present):
        raise not_permitted(_REFUSAL)
    _check_limits(account_id, items, entries)


def _write(
    account_id: int,
    subaccount_id: int | None,
    entries: Iterable[SuppressionEntry],
    rule: Rule,
    check: Check,
) -> list[SuppressionEntry]:
    """Write entries of one list by a rule; of several for one key the last counts.

    Returns the entries that the rule does not write. Raises what ``check`` does before anything is
    written, and 503 if others keep changing the same entries.
    """
    unwritten: list[SuppressionEntry] = []
    is_logged = False
    own = (replace(entry, subaccount_id=subaccount_id or None) for entry in entries)
    remaining = {key_of(account_id, entry): entry for entry in own}

    def attempt() -> None:
        nonlocal remaining, is_logged
        items = read({*remaining, *(lookup_key_for(key) for key in remaining)})
        check(account_id, items, remaining)
        line = [] if is_logged else _line(items, remaining, rule)
        changes = Changes(account_id, subaccount_id, line)
        unwritten.extend(_apply(changes, items, remaining, rule))
        remaining = {key: remaining[key] for key in changes.finish()}
        is_logged = not changes.line
        if remaining:
            raise WriteConflict

    retry_conflicts(attempt)
    return unwritten


def _line(items: Items, entries: Entries, rule: Rule) -> list[Write]:
    """Return the action that writes one line of the audit log about all the entries."""
    if audit.author() is None:
        return []
    pairs = [(to_entry(items.get(key)), new) for key, new in entries.items()]
    after = [entry for old, new in pairs if (entry := rule(old, new))]
    if len({entry.recipient for entry in after}) > 1:
        return audit.line("", None, shown_fields(after))
    before = [old for old, new in pairs if old and rule(old, new)]
    name = after[0].recipient if after else ""
    return audit.line(name, shown_fields(before), shown_fields(after))


def _apply(
    changes: Changes, items: dict[Key, SuppressionItem], entries: Entries, rule: Rule
) -> list[SuppressionEntry]:
    """Write entries on top of ``items``; return those that the rule does not write."""
    unwritten: list[SuppressionEntry] = []
    for key, new in entries.items():
        entry = rule(to_entry(items.get(key)), new)
        if entry is None:
            unwritten.append(new)
            continue
        lookup_key = lookup_key_for(key)
        lookup_item = items.get(lookup_key)
        is_list_new = list_at(key) != "" and list_at(key) not in lists_of(lookup_item)
        changes.begin(key, [key, lookup_key] if is_list_new else [key])
        if is_list_new:
            changes.set(lookup_key, items, with_list(lookup_item, key))
        item = to_item(changes.account_id, entry, lists_of(items.get(key)))
        changes.set(key, items, item)
    return unwritten
