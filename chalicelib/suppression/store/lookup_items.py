"""Look up which messages a list holds back, with one item for each recipient and type.

Access patterns of ``suppression``:

- does a list hold back a type of message to a recipient → ``<account>#<recipient>`` /
  ``<owner>#<type>#`` (100 recipients a request)

A lookup item is the account-wide entry, if there is one, and names in ``lists`` the ids of the
mailing lists that have an entry of their own. So one item answers for a message of any mailing
list. A lookup item that holds neither is removed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from chalicelib.core.reading import Read
from chalicelib.suppression.model import (
    NON_TRANSACTIONAL,
    OPEN_TRACKING,
    TRANSACTIONAL,
    Recipient,
    SuppressionHold,
)
from chalicelib.suppression.store import items
from chalicelib.suppression.store.items import Key, SuppressionItem, lookup_key


def blocking_keys(
    account_id: int, subaccount_id: int | None, recipients: Iterable[str], *, transactional: bool
) -> list[Key]:
    """Return the keys that :func:`blocking` reads, one for each recipient."""
    type = TRANSACTIONAL if transactional else NON_TRANSACTIONAL
    return [lookup_key(account_id, subaccount_id, each, type) for each in recipients]


def read_eventually(keys: Iterable[Key]) -> Mapping[Key, SuppressionItem]:
    """Read items eventually consistently: for half the price, and soon enough to hold mail back."""
    return items.read(set(keys), consistent=False)


def blocking(
    account_id: int,
    subaccount_id: int | None,
    recipients: Sequence[str],
    *,
    transactional: bool,
    read: Read = read_eventually,
) -> dict[str, SuppressionHold]:
    """Return what may hold back a message of this type, for each recipient who has such entries.

    Takes one request for 100 recipients.
    """
    keys = blocking_keys(account_id, subaccount_id, recipients, transactional=transactional)
    lookup_items: Mapping[Key, SuppressionItem] = read(keys)
    return {
        recipient: SuppressionHold(lookup_items[key].get("source", ""), lists_of(lookup_items[key]))
        for recipient, key in zip(recipients, keys, strict=True)
        if key in lookup_items
    }


def opens_key(recipient: Recipient) -> Key:
    """Return the key that :func:`suppressing_opens` reads for a recipient."""
    account_id, subaccount_id, address = recipient
    return lookup_key(account_id, subaccount_id, address, OPEN_TRACKING)


def suppressing_opens(
    recipients: Iterable[Recipient], read: Read = read_eventually
) -> set[Recipient]:
    """Return the recipients whose opens are not recorded.

    Takes one request for 100 recipients, of any accounts.
    """
    keys = {recipient: opens_key(recipient) for recipient in recipients}
    lookup_items = read(keys.values()) if keys else {}
    return {recipient for recipient, key in keys.items() if key in lookup_items}


def lookup_key_for(key: Key) -> Key:
    """Return the key of an entry's lookup item: the entry's own key if it is account-wide."""
    owner, type, _ = key[1].split("#", 2)
    return (key[0], f"{owner}#{type}#")


def lists_of(lookup_item: SuppressionItem | None) -> frozenset[str]:
    """Return the mailing lists that have an entry of their own."""
    return frozenset(lookup_item.get("lists", ())) if lookup_item else frozenset()


def list_at(key: Key) -> str:
    """Return the mailing list that the entry at ``key`` is for; empty if it is account-wide."""
    return key[1].split("#", 2)[2]


def without_entry(lookup_item: SuppressionItem) -> SuppressionItem | None:
    """Return a lookup item without its account-wide entry; ``None`` if no list remains."""
    lists = lists_of(lookup_item)
    if not lists:
        return None
    return {"pk": lookup_item["pk"], "sk": lookup_item["sk"], "lists": lists}


def with_list(lookup_item: SuppressionItem | None, key: Key) -> SuppressionItem:
    """Return a lookup item that also names the mailing list of the entry at ``key``."""
    pk, sk = lookup_key_for(key)
    lists = lists_of(lookup_item) | {list_at(key)}
    base: SuppressionItem = lookup_item or {"pk": pk, "sk": sk}
    return {**base, "lists": lists}


def without_list(lookup_item: SuppressionItem | None, key: Key) -> SuppressionItem | None:
    """Return a lookup item that no longer names the mailing list of the entry at ``key``."""
    if lookup_item is None:
        return None
    lists = lists_of(lookup_item) - {list_at(key)}
    if lists:
        return {**lookup_item, "lists": lists}
    rest = lookup_item.copy()
    rest.pop("lists", None)
    return rest if "source" in lookup_item else None
