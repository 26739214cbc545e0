"""Writing entries: read what is there, decide, write in transactions; again where others came in.

A bulk load of n account-wide entries takes n/100 reads and about n/99 transactions. An entry for a
mailing list may be two items (its own and its slot), which makes that twice as many. A load that
fails half-way is repeated from its start (spec 4.8 rule 2).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from chalicelib.core.dynamo import Item
from chalicelib.core.errors import Unavailable, bad_request, not_permitted
from chalicelib.suppression.model import COMPLIANCE, Entry
from chalicelib.suppression.store import counts
from chalicelib.suppression.store.changes import Changes
from chalicelib.suppression.store.items import Key, key_of, read, to_entry, to_item
from chalicelib.suppression.store.lookup_items import list_at, lists_of, slot_of, with_list

#: the mailing lists that one recipient may have entries of one type for
MOST_LISTS = 1000
_ATTEMPTS = 20
_MOST_NAMED = 100

#: what is written, from the entry there is (if any) and the one wanted; ``None`` writes nothing
Rule = Callable[[Entry | None, Entry], Entry | None]
#: looks at what is there before anything is written, and may raise
Check = Callable[[int, Mapping[Key, Item], Mapping[Key, Entry]], None]


def if_absent(old: Entry | None, new: Entry) -> Entry | None:
    """Let an entry that is there stay as it is."""
    return None if old else new


def updated(old: Entry | None, new: Entry) -> Entry:
    """Change what an update of an entry changes: its description, if one is given."""
    if old is None:
        return new
    kept = old.description if new.description is None else new.description
    return replace(new, source=old.source, created_ms=old.created_ms, description=kept)


def imposed(old: Entry | None, new: Entry) -> Entry:
    """Replace the entry that is there, its source included."""
    return replace(new, created_ms=old.created_ms) if old else new


def no_check(account_id: int, state: Mapping[Key, Item], wanted: Mapping[Key, Entry]) -> None:
    """Let everything be written."""


def within_limits(account_id: int, state: Mapping[Key, Item], wanted: Mapping[Key, Entry]) -> None:
    """Raise 400 if there would be more entries than an account can have (spec 8)."""
    new = [key for key in wanted if to_entry(state.get(key)) is None]
    for slot, added in Counter(slot_of(key) for key in new if list_at(key)).items():
        if len(lists_of(state.get(slot))) + added > MOST_LISTS:
            raise bad_request(f"A recipient can have entries for at most {MOST_LISTS} list_ids")
    if new:
        counts.check_room(account_id, len(new))


def as_customer(account_id: int, state: Mapping[Key, Item], wanted: Mapping[Key, Entry]) -> None:
    """Raise 403 for entries of compliance (spec 4.8 rule 1), and 400 over a limit."""
    there = [entry for key in wanted if (entry := to_entry(state.get(key)))]
    fixed = dict.fromkeys(entry.recipient for entry in there if entry.source == COMPLIANCE)
    if fixed:
        names = ", ".join(list(fixed)[:_MOST_NAMED])
        raise not_permitted("Recipient could not be updated - Compliance", description=names)
    within_limits(account_id, state, wanted)


def write(
    account_id: int,
    subaccount_id: int | None,
    entries: Iterable[Entry],
    rule: Rule,
    check: Check = no_check,
) -> None:
    """Write entries of one list by a rule. Of several for one key the last counts.

    Raises what ``check`` does before anything is written, and 503 if others keep changing the same
    entries.
    """
    owned = (replace(entry, subaccount_id=subaccount_id or None) for entry in entries)
    wanted = {key_of(account_id, entry): entry for entry in owned}
    for _ in range(_ATTEMPTS):
        state = read({*wanted, *(slot_of(key) for key in wanted)})
        check(account_id, state, wanted)
        wanted = _apply(Changes(account_id, subaccount_id), state, wanted, rule)
        if not wanted:
            return
    raise Unavailable


def _apply(
    changes: Changes, state: dict[Key, Item], wanted: Mapping[Key, Entry], rule: Rule
) -> dict[Key, Entry]:
    """Write what is wanted on top of ``state``; return what met another writer's change."""
    for key, new in wanted.items():
        entry = rule(to_entry(state.get(key)), new)
        if entry is None:
            continue
        slot = slot_of(key)
        needs_slot = list_at(key) != "" and list_at(key) not in lists_of(state.get(slot))
        changes.begin(key, [key, slot] if needs_slot else [key])
        if needs_slot:
            changes.set(slot, state, with_list(state.get(slot), key))
        item = to_item(changes.account_id, entry, lists_of(state.get(key)))
        changes.set(key, state, item)
    return {key: wanted[key] for key in changes.finish()}
