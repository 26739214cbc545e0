"""Where subaccounts are kept.

Access patterns (table ``config``):

- one subaccount → ``pk = subaccount#<id>``, ``sk = subaccount``; ids are unique among all
  accounts, so that it is found before it is known whose it is
- a page of a list of an account's subaccounts, in any order →
  ``pk = account#<id>/subaccounts/<list>/<order>``, ``sk`` the position in that order
  (``subaccounts.entries``); one request, whatever exists
- how many subaccounts stand in each list → ``pk = account#<id>/subaccounts``, ``sk = counts``
- the next subaccount's id → ``pk = counter#subaccounts``, ``sk = counter``

A subaccount, its entries (at most twelve, each a copy of it) and the counts are written in one
transaction. That makes a write dear and a page cheap; subaccounts are read far more than written.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace

from chalicelib.core import clock, config_cache, dynamo
from chalicelib.core.config_cache import Key
from chalicelib.core.dynamo import Item, Table, Write
from chalicelib.core.errors import Unavailable
from chalicelib.subaccounts.entries import ALL, KEPT_ORDERS, ORDERS, List, lists_of, position
from chalicelib.subaccounts.model import Subaccount

_config = Table("config")
_FIELDS = tuple(Subaccount.__slots__)
_ATTEMPTS = 20


def key_of(subaccount_id: int) -> Key:
    """Return where the subaccount is kept."""
    return (f"subaccount#{subaccount_id}", "subaccount")


def get(account_id: int, subaccount_id: int) -> Subaccount | None:
    """Return a subaccount of the account, or ``None``."""
    item = _config.get(*key_of(subaccount_id))
    found = from_item(item) if item else None
    return found if found and found.account_id == account_id else None


def get_all(account_id: int, ids: Sequence[int]) -> list[Subaccount]:
    """Return those of ``ids`` that are subaccounts of the account, 100 a request."""
    items = _config.get_all(key_of(each) for each in dict.fromkeys(ids))
    found = [from_item(item) for item in items]
    return [each for each in found if each.account_id == account_id]


def listed(
    account_id: int,
    which: List,
    order: str,
    *,
    descending: bool,
    after: str = "",
    limit: int | None = None,
) -> Iterator[Subaccount]:
    """Yield the subaccounts of a list behind the position ``after``, ``limit`` to a request."""
    condition, values = "#pk = :pk", {"pk": _list_key(account_id, which, ORDERS[order])}
    if after:
        condition += " AND #sk < :after" if descending else " AND #sk > :after"
        values["after"] = after
    items = _config.query_all(
        condition, values, newest_first=descending, limit=limit, consistent=True
    )
    return (from_item(item) for item in items)


def count(account_id: int, which: List = ALL) -> int:
    """Return how many subaccounts of the account stand in a list."""
    counts = _config.get(*_counts(account_id))
    return counts.get(_count_name(which), 0) if counts else 0


def draw_id() -> int:
    """Draw the id of a new subaccount."""
    counter = _config.update("counter#subaccounts", "counter", "ADD #last :one", values={"one": 1})
    return int(counter["last"])


def create(subaccount: Subaccount, also: Sequence[Write] = ()) -> None:
    """Store a new subaccount, together with what else the transaction ``also`` writes."""
    new = dynamo.put(_config, _to_item(subaccount), condition="attribute_not_exists(#pk)")
    writes = [new, *_put_entries(subaccount), *_move_counts(None, subaccount), *also]
    dynamo.transact(writes)


def change(
    account_id: int, subaccount_id: int, edit: Callable[[Subaccount], Subaccount]
) -> Subaccount | None:
    """Change a subaccount of the account by ``edit``; return ``None`` if there is none.

    ``edit`` may be called again if others change the subaccount meanwhile; raises 503 when too
    many others do.
    """
    for _ in range(_ATTEMPTS):
        before = get(account_id, subaccount_id)
        if before is None:
            return None
        after = replace(edit(before), updated=clock.now(), version=before.version + 1)
        if _replace(before, after):
            return after
    raise Unavailable


def from_item(item: Item) -> Subaccount:
    """Return the subaccount that an item of the table holds."""
    return Subaccount(**{name: item[name] for name in _FIELDS})


def _replace(before: Subaccount, after: Subaccount) -> bool:
    main = dynamo.put(
        _config, _to_item(after), condition="#version = :seen", values={"seen": before.version}
    )
    entries = [*_put_entries(after), *_remove_entries(before, after)]
    try:
        return dynamo.transacted([main, *entries, *_move_counts(before, after)])
    finally:
        config_cache.forget(key_of(after.id))


def _to_item(subaccount: Subaccount) -> Item:
    pk, sk = key_of(subaccount.id)
    return {"pk": pk, "sk": sk} | asdict(subaccount)


def _entries(subaccount: Subaccount) -> dict[Key, Item]:
    places = [
        (_list_key(subaccount.account_id, which, order), position(subaccount, order))
        for which in lists_of(subaccount)
        for order in KEPT_ORDERS
    ]
    return {(pk, sk): {"pk": pk, "sk": sk} | asdict(subaccount) for pk, sk in places}


def _put_entries(subaccount: Subaccount) -> list[Write]:
    return [dynamo.put(_config, item) for item in _entries(subaccount).values()]


def _remove_entries(before: Subaccount, after: Subaccount) -> list[Write]:
    gone = _entries(before).keys() - _entries(after).keys()
    return [dynamo.delete(_config, *key) for key in gone]


def _move_counts(before: Subaccount | None, after: Subaccount) -> list[Write]:
    moved = Counter(_count_name(which) for which in lists_of(after))
    if before is not None:
        moved.subtract(_count_name(which) for which in lists_of(before))
    changed = {name: number for name, number in moved.items() if number}
    if not changed:
        return []
    change = "ADD " + ", ".join(f"#{name} :{name}" for name in changed)
    return [dynamo.update(_config, *_counts(after.account_id), change, values=changed)]


def _count_name(which: List) -> str:
    return f"{which.kind}_{which.value}"


def _counts(account_id: int) -> Key:
    return (f"account#{account_id}/subaccounts", "counts")


def _list_key(account_id: int, which: List, order: str) -> str:
    return f"account#{account_id}/subaccounts/{which.kind}={which.value}/{order}"
