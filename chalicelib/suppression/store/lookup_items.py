"""Slots: the items that answer for all of a type's entries of one recipient in one list.

A slot is the account-wide entry, if there is one, and names in ``lists`` the mailing lists that
have an entry of their own. So one item says whether a message is held back, whatever mailing list
it belongs to. A slot that holds neither does not exist.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chalicelib.core.dynamo import Item
from chalicelib.suppression.store.items import Key


def slot_of(key: Key) -> Key:
    """Return the slot that answers for the entry at ``key``: itself if it is account-wide."""
    owner, kind, _ = key[1].split("#", 2)
    return (key[0], f"{owner}#{kind}#")


def lists_of(slot: Mapping[str, Any] | None) -> frozenset[str]:
    """Return the mailing lists that have an entry of their own."""
    return frozenset(slot.get("lists", ())) if slot else frozenset()


def list_at(key: Key) -> str:
    """Return the mailing list that the entry at ``key`` is for; empty if it is account-wide."""
    return key[1].split("#", 2)[2]


def without_entry(slot: Item) -> Item | None:
    """Return a slot as it is after its account-wide entry; ``None`` if nothing is left."""
    lists = lists_of(slot)
    return {"pk": slot["pk"], "sk": slot["sk"], "lists": lists} if lists else None


def with_list(slot: Item | None, row: Key) -> Item:
    """Return a slot that also names the mailing list of the entry at ``row``."""
    pk, sk = slot_of(row)
    return {**(slot or {"pk": pk, "sk": sk}), "lists": lists_of(slot) | {list_at(row)}}


def without_list(slot: Item | None, row: Key) -> Item | None:
    """Return a slot that does not name the mailing list of ``row`` any more."""
    if slot is None:
        return None
    rest = {name: value for name, value in slot.items() if name != "lists"}
    lists = lists_of(slot) - {list_at(row)}
    if lists:
        return rest | {"lists": lists}
    return rest if "source" in slot else None
