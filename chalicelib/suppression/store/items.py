"""Read and write suppression entries as items of the table, which also orders them by time.

``<list>`` is the number of the subaccount whose list it is, 0 for the primary account; ``<kind>``
is a type, with ``_list`` for entries of one mailing list; ``<recipient>`` is in the spelling of
``core.addresses.spelling``.

Access patterns of ``suppression``:

- one entry → ``<account>#<recipient>`` / ``<owner>#<type>#<list id>``
- the entries of a recipient in one list → ``<account>#<recipient>`` / ``<owner>#*``
- the entries of a recipient in all lists → ``<account>#<recipient>``
- entries of a list and kind, by time of update → ``<account>/<list>/<kind>`` /
  ``<ms>#<tie-break>`` [by_time]
- those of one domain → ``<account>/<list>/<kind>/<domain>`` / ``<ms>#<tie-break>`` [by_domain]
- those of one source → ``<account>/<list>/<kind>/<source>`` / ``<ms>#<tie-break>`` [by_source]
- those of one mailing list → ``<account>/<list>/<kind>/<list id>`` / ``<ms>#<tie-break>`` [by_list]
- entries of all subaccounts, by time of update → ``<account>/subaccounts/<kind>`` /
  ``<ms>#<tie-break>`` [by_sub_time]
- those of one domain → ``<account>/subaccounts/<kind>/<domain>`` / ``<ms>#<tie-break>``
  [by_sub_domain]
- those of one source → ``<account>/subaccounts/<kind>/<source>`` / ``<ms>#<tie-break>``
  [by_sub_source]
- those of one mailing list → ``<account>/subaccounts/<kind>/<list id>`` / ``<ms>#<tie-break>``
  [by_sub_list]

Entries of the primary account are not in the indexes of all subaccounts, so a search of the whole
account reads two partitions, however many lists there are.

An account-wide entry has an empty list id. An item without ``source`` is no entry: it is a lookup
item that only holds ``lists`` (see ``lookup_items.py``).

Entries of one list and kind stand in one partition of an index, which takes 1,000 writes a second.
DynamoDB slows down a faster load, which goes on because ``core.dynamo`` repeats throttled writes.
Partitions cut by time or by shards would make every page of a quiet list more expensive.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Set
from operator import itemgetter
from typing import NamedTuple, NotRequired, cast

from chalicelib.core.addresses import spelling
from chalicelib.core.dynamo import Keyed, Table
from chalicelib.core.owner_keys import owner_digits
from chalicelib.core.scope import PRIMARY, Scope
from chalicelib.suppression.model import SuppressionEntry, SuppressionKind


class SuppressionItem(Keyed):
    """An entry of a suppression list, or a lookup item, or both."""

    #: Who created the entry; without it the item is only a lookup item
    source: NotRequired[str]
    #: The entry's creation, in ms
    created: NotRequired[int]
    #: The entry's position in its order: its last update, in ms, and a tie-break
    at: NotRequired[str]
    description: NotRequired[str]
    #: The mailing list of the entry, in the case in which the client wrote it
    list_id: NotRequired[str]
    #: The mailing lists, in lower case, for which a lookup item says that there is an entry
    lists: NotRequired[Set[str]]
    #: Partitions in the indexes of one list
    time_key: NotRequired[str]
    domain_key: NotRequired[str]
    source_key: NotRequired[str]
    list_key: NotRequired[str]
    #: Partitions in the indexes of all subaccounts' lists
    sub_time_key: NotRequired[str]
    sub_domain_key: NotRequired[str]
    sub_source_key: NotRequired[str]
    sub_list_key: NotRequired[str]


table: Table[SuppressionItem] = Table("suppression")

#: ``pk`` and ``sk`` of an item
Key = tuple[str, str]

_DIGITS = 13  # of the milliseconds in a position, which sort as text
#: the latest time that has a position
LATEST_MS = 10**_DIGITS - 1


class EntryPart(NamedTuple):
    """The entries that are counted and read together: one list, or those of all subaccounts."""

    name: str
    prefix: str = ""


ALL_SUBACCOUNTS = EntryPart("subaccounts", "sub_")


def part_of(subaccount_id: int | None) -> EntryPart:
    """Return the part that is one list."""
    return EntryPart(str(subaccount_id or PRIMARY))


def parts_in(scope: Scope) -> list[EntryPart]:
    """Return the parts that a scope is made of."""
    return [part_of(None), ALL_SUBACCOUNTS] if scope.spans else [part_of(scope.part)]


def parts_with(subaccount_id: int | None) -> list[EntryPart]:
    """Return the parts that an entry of this list belongs to."""
    own = part_of(subaccount_id)
    return [own, ALL_SUBACCOUNTS] if subaccount_id else [own]


def partition(account_id: int, recipient: str) -> str:
    """Return the partition of everything about a recipient, however the address is spelled."""
    return f"{account_id}#{spelling(recipient)}"


def list_prefix(subaccount_id: int | None) -> str:
    """Return the prefix of the sort keys of one list's entries."""
    return f"{owner_digits(subaccount_id)}#"


def lookup_key(account_id: int, subaccount_id: int | None, recipient: str, type: str) -> Key:
    """Return the key of the lookup item for a recipient and a type."""
    return (partition(account_id, recipient), f"{list_prefix(subaccount_id)}{type}#")


def key_of(account_id: int, entry: SuppressionEntry) -> Key:
    """Return the key of an entry."""
    pk, sk = lookup_key(account_id, entry.subaccount_id, entry.recipient, entry.type)
    return (pk, sk + entry.list_id.lower())


def to_item(
    account_id: int, entry: SuppressionEntry, lists: Set[str] = frozenset()
) -> SuppressionItem:
    """Return the item of an entry; ``lists`` are the mailing lists that it is a lookup item for."""
    pk, sk = key_of(account_id, entry)
    item: SuppressionItem = {
        "pk": pk,
        "sk": sk,
        "at": f"{position(entry.updated_ms)}#{_tie_break(pk, sk)}",
        "source": entry.source,
        "created": entry.created_ms,
    }
    if entry.description:
        item["description"] = entry.description
    if entry.list_id:
        item["list_id"] = entry.list_id
    if lists:
        item["lists"] = lists
    return cast(SuppressionItem, item | dict(_index_keys(account_id, entry)))


def to_entry(item: SuppressionItem | None) -> SuppressionEntry | None:
    """Return the entry in an item, or ``None`` if it holds none."""
    if not item or "source" not in item:
        return None
    owner, type, _ = item["sk"].split("#", 2)
    return SuppressionEntry(
        recipient=_recipient_in(item["pk"]),
        type=type,
        source=item["source"],
        created_ms=item["created"],
        updated_ms=int(item["at"][:_DIGITS]),
        description=item.get("description"),
        list_id=item.get("list_id", ""),
        subaccount_id=int(owner) or None,
    )


def read(keys: Iterable[Key], *, consistent: bool = True) -> dict[Key, SuppressionItem]:
    """Return the items that exist among ``keys``."""
    return _by_key(table.get_all(keys, consistent=consistent))


def read_recipient(scope: Scope, recipient: str) -> dict[Key, SuppressionItem]:
    """Return all items about a recipient in the lists of a scope."""
    condition, values = "#pk = :pk", {"pk": partition(scope.account_id, recipient)}
    if not scope.spans:
        condition += " AND begins_with(#sk, :list)"
        values["list"] = list_prefix(scope.part)
    return _by_key(table.query_all(condition, values, consistent=True))


def rows_of(scope: Scope, recipient: str) -> list[tuple[str, SuppressionEntry]]:
    """Return ``(position, entry)`` of a recipient's entries in a scope, the last updated first."""
    items = read_recipient(scope, recipient).values()
    rows = [(item["at"], entry) for item in items if (entry := to_entry(item))]
    return sorted(rows, key=itemgetter(0), reverse=True)


def position(time_ms: int) -> str:
    """Return the first position of a time, which may be any number that a caller names."""
    return f"{min(max(time_ms, 0), LATEST_MS):0{_DIGITS}d}"


def index_name(part: EntryPart, dimension: str) -> str:
    """Return the index that orders a part by time within ``dimension``."""
    return f"by_{part.prefix}{dimension}"


def index_attribute(part: EntryPart, dimension: str) -> str:
    """Return the attribute that is the index's partition key."""
    return f"{part.prefix}{dimension}_key"


def index_key(account_id: int, part: EntryPart, kind: SuppressionKind, value: str) -> str:
    """Return the index's partition; ``value`` is empty for the order by time alone."""
    key = f"{account_id}/{part.name}/{kind}"
    return f"{key}/{value}" if value else key


def _by_key(items: Iterable[SuppressionItem]) -> dict[Key, SuppressionItem]:
    return {(item["pk"], item["sk"]): item for item in items}


def _recipient_in(pk: str) -> str:
    return pk.partition("#")[2]


def _index_keys(account_id: int, entry: SuppressionEntry) -> Iterator[tuple[str, str]]:
    values = {"time": "", "domain": entry.domain, "source": entry.source}
    if entry.list_id:
        values["list"] = entry.list_id.lower()
    for part in parts_with(entry.subaccount_id):
        for dimension, value in values.items():
            name = index_attribute(part, dimension)
            yield name, index_key(account_id, part, entry.kind, value)


def _tie_break(pk: str, sk: str) -> str:
    # Thousands of entries may be updated in one millisecond: their order must not change from
    # page to page.
    return hashlib.sha256(f"{pk}\0{sk}".encode()).hexdigest()[:16]
