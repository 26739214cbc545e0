"""Store subaccounts, each with its entries in the lists that pages are read from.

A subaccount, its entries (at most twelve, each a copy of it) and the counts of the lists are
written in one transaction. That makes a write expensive and a page cheap; subaccounts are read far
more often than written. A change is conditional on the ``revision`` that it was made from.

Ids are unique among all accounts, so a subaccount can be read before its account is known.

Access patterns of ``config``:

- one subaccount → ``subaccount#<subaccount>`` / ``subaccount``
- a page of a list of subaccounts, in one of its orders →
  ``account#<account>/subaccounts/<list>/<order>`` / ``<position>`` (one request; see
  ``subaccounts.entries``)
- how many subaccounts each list has → ``account#<account>/subaccounts`` / ``counts``
- the id of the next subaccount → ``counter#subaccounts`` / ``counter``
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NotRequired, cast

from chalicelib.core import audit, clock, config_cache, dynamo
from chalicelib.core.config_cache import Key
from chalicelib.core.dynamo import Keyed, Table, Write
from chalicelib.core.owner_keys import account_partition
from chalicelib.subaccounts.entries import ALL, ORDERS, STORED_ORDERS, List, lists_of, position
from chalicelib.subaccounts.model import Subaccount
from chalicelib.subaccounts.view import subaccount_view

RESOURCE = "subaccounts"


class SubaccountItem(Keyed):
    """A subaccount, or its entry in a list: the fields of ``Subaccount``."""

    id: int
    account_id: int
    name: str
    #: In seconds
    created: float
    #: In seconds
    updated: float
    status: str
    ip_pool: str
    options: dict[str, bool]
    #: The revision
    version: int
    #: Version 0.1.0 did not write it
    compliance_status: NotRequired[str]


class SubaccountCountsItem(Keyed):
    """How many subaccounts each list of an account has, as ``<kind>_<value>``."""


class LastSubaccountItem(Keyed):
    """The last id of a subaccount that was drawn."""

    last: int


_config: Table[SubaccountItem] = Table("config")
_count_table: Table[SubaccountCountsItem] = Table("config")
_last_id: Table[LastSubaccountItem] = Table("config")
# Field of a subaccount → attribute of an item
_ATTRIBUTES = {name: name for name in Subaccount.__slots__} | {"revision": "version"}


def key_of(subaccount_id: int) -> Key:
    """Return the key of a subaccount."""
    return (f"subaccount#{subaccount_id}", "subaccount")


def get(account_id: int, subaccount_id: int) -> Subaccount | None:
    """Return a subaccount of the account, or ``None``."""
    item = _config.get(*key_of(subaccount_id))
    subaccount = from_item(item) if item else None
    return subaccount if subaccount and subaccount.account_id == account_id else None


def get_all(account_id: int, ids: Sequence[int]) -> list[Subaccount]:
    """Return those of ``ids`` that are subaccounts of the account, 100 a request."""
    items = _config.get_all(key_of(each) for each in dict.fromkeys(ids))
    subaccounts = [from_item(item) for item in items]
    return [each for each in subaccounts if each.account_id == account_id]


def in_list(
    account_id: int,
    which: List,
    order: str,
    *,
    descending: bool,
    after: str = "",
    limit: int | None = None,
) -> Iterator[Subaccount]:
    """Yield the subaccounts of a list after the position ``after``, ``limit`` to a request."""
    condition, values = "#pk = :pk", {"pk": _list_key(account_id, which, ORDERS[order])}
    if after:
        condition += " AND #sk < :after" if descending else " AND #sk > :after"
        values["after"] = after
    items = _config.query_all(
        condition, values, newest_first=descending, limit=limit, consistent=True
    )
    return (from_item(item) for item in items)


def count(account_id: int, which: List = ALL) -> int:
    """Return how many subaccounts a list of the account has."""
    counts: Mapping[str, Any] | None = _count_table.get(*_counts(account_id))
    return counts.get(_count_name(which), 0) if counts else 0


def draw_id() -> int:
    """Draw the id of a new subaccount."""
    counter = _last_id.update("counter#subaccounts", "counter", "ADD #last :one", values={"one": 1})
    return int(counter["last"])


def create(
    subaccount: Subaccount, also: Sequence[Write] = (), also_shown: dict[str, Any] | None = None
) -> None:
    """Store a new subaccount, with the writes ``also`` in the same transaction.

    The audit log tells ``also_shown`` beside the fields of the subaccount.
    """
    new = dynamo.put(_config, _to_item(subaccount), condition="attribute_not_exists(#pk)")
    fields = subaccount_view(subaccount) | (also_shown or {})
    writes = [new, *_put_entries(subaccount), *_move_counts(None, subaccount), *also]
    dynamo.transact([*writes, *_line(subaccount.id, None, fields)])


def change(
    account_id: int,
    subaccount_id: int,
    edit: Callable[[Subaccount], Subaccount],
    also: Callable[[], Sequence[Write]] = tuple,
) -> Subaccount | None:
    """Change a subaccount by ``edit``, with the writes ``also``; return ``None`` if there is none.

    Both may be called again if another writer changes something meanwhile. Raises 503 when other
    writers come first every time.
    """

    def next_revision(before: Subaccount) -> Subaccount:
        return replace(edit(before), updated=clock.now(), revision=before.revision + 1)

    def write(before: Subaccount, after: Subaccount) -> None:
        _replace(before, after, also())

    return dynamo.update_record(lambda: get(account_id, subaccount_id), next_revision, write)


def from_item(item: SubaccountItem) -> Subaccount:
    """Return the subaccount that an item of the table holds.

    Items of version 0.1.0 have no ``compliance_status`` (stays: subaccounts are not rewritten).
    """
    attributes: Mapping[str, Any] = item
    fields = {name: attributes[at] for name, at in _ATTRIBUTES.items() if at in attributes}
    return Subaccount(**fields)


def _replace(before: Subaccount, after: Subaccount, also: Sequence[Write]) -> None:
    unchanged = dynamo.if_unchanged("version", before.revision)
    main = dynamo.put(_config, _to_item(after), **unchanged)
    entries = [*_put_entries(after), *_remove_entries(before, after)]
    line = _line(after.id, subaccount_view(before), subaccount_view(after))
    try:
        dynamo.transact([main, *entries, *_move_counts(before, after), *also, *line])
    finally:
        config_cache.forget(key_of(after.id))


def _line(
    subaccount_id: int, before: Mapping[str, Any] | None, after: Mapping[str, Any]
) -> list[Write]:
    """Return the line of the audit log about a change; the subaccount's own users see it."""
    return audit.change_line(
        str(subaccount_id), before, after, resource=RESOURCE, subaccount_id=subaccount_id
    )


def _to_item(subaccount: Subaccount) -> SubaccountItem:
    pk, sk = key_of(subaccount.id)
    return _item(pk, sk, _fields(subaccount))


def _entries(subaccount: Subaccount) -> dict[Key, SubaccountItem]:
    keys = [
        (_list_key(subaccount.account_id, which, order), position(subaccount, order))
        for which in lists_of(subaccount)
        for order in STORED_ORDERS
    ]
    fields = _fields(subaccount)
    return {(pk, sk): _item(pk, sk, fields) for pk, sk in keys}


def _item(pk: str, sk: str, fields: dict[str, Any]) -> SubaccountItem:
    return cast(SubaccountItem, {"pk": pk, "sk": sk} | fields)


def _fields(subaccount: Subaccount) -> dict[str, Any]:
    return {attribute: getattr(subaccount, name) for name, attribute in _ATTRIBUTES.items()}


def _put_entries(subaccount: Subaccount) -> list[Write]:
    return [dynamo.put(_config, item) for item in _entries(subaccount).values()]


def _remove_entries(before: Subaccount, after: Subaccount) -> list[Write]:
    surplus = _entries(before).keys() - _entries(after).keys()
    return [dynamo.delete(_config, *key) for key in surplus]


def _move_counts(before: Subaccount | None, after: Subaccount) -> list[Write]:
    totals = Counter(_count_name(which) for which in lists_of(after))
    if before is not None:
        totals.subtract(_count_name(which) for which in lists_of(before))
    differences = {name: number for name, number in totals.items() if number}
    if not differences:
        return []
    expression = "ADD " + ", ".join(f"#{name} :{name}" for name in differences)
    return [dynamo.update(_count_table, *_counts(after.account_id), expression, values=differences)]


def _count_name(which: List) -> str:
    return f"{which.kind}_{which.value}"


def _counts(account_id: int) -> Key:
    return (account_partition(account_id, "subaccounts"), "counts")


def _list_key(account_id: int, which: List, order: str) -> str:
    return account_partition(account_id, f"subaccounts/{which.kind}={which.value}/{order}")
