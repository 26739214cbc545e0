"""Store which record of a kind is its owner's default: at most one for each owner.

An owner is the primary account or a subaccount. The record itself has a flag as well; its store
changes both in one transaction, with the actions below.

Access patterns of ``config``:

- the default of an owner → ``default#<kind>#<account>`` / ``<subaccount>``
"""

from __future__ import annotations

from collections.abc import Mapping

from chalicelib.core import dynamo
from chalicelib.core.dynamo import Key, Keyed, Table, Write
from chalicelib.core.reading import Read, read_config
from chalicelib.core.scope import PRIMARY


class DefaultItem(Keyed):
    """Which record is the default of its owner."""

    name: str


_config: Table[DefaultItem] = Table("config")


def of_owner(
    kind: str, account_id: int, subaccount_id: int | None, read: Read = read_config
) -> str | None:
    """Return the name of the owner's default, or ``None``."""
    key = key_of(kind, account_id, subaccount_id)
    item: DefaultItem | None = read([key]).get(key)
    return item["name"] if item else None


def key_of(kind: str, account_id: int, subaccount_id: int | None) -> Key:
    """Return the key of an owner's default."""
    return (f"default#{kind}#{account_id}", str(subaccount_id or PRIMARY))


def keys_of_sender(kind: str, account_id: int, subaccount_id: int | None) -> list[Key]:
    """Return the keys of a sender's default and of the primary account's, in this order."""
    return list(dict.fromkeys(key_of(kind, account_id, part) for part in (subaccount_id, None)))


def of_sender(
    kind: str, account_id: int, subaccount_id: int | None, read: Read = read_config
) -> list[str]:
    """Return the names of a sender's default and of the primary account's, in this order."""
    keys = keys_of_sender(kind, account_id, subaccount_id)
    items: Mapping[Key, DefaultItem] = read(keys)
    return [items[key]["name"] for key in keys if key in items]


def setting(
    kind: str, account_id: int, subaccount_id: int | None, name: str, former: str | None
) -> Write:
    """Return the action that makes ``name`` the default if it still is ``former``."""
    pk, sk = key_of(kind, account_id, subaccount_id)
    item: DefaultItem = {"pk": pk, "sk": sk, "name": name}
    return dynamo.put(
        _config,
        item,
        condition="#name = :former" if former else "attribute_not_exists(#pk)",
        values={"former": former} if former else {},
    )


def clearing(kind: str, account_id: int, subaccount_id: int | None, name: str) -> Write:
    """Return the action that leaves the owner without a default if it still is ``name``."""
    return dynamo.delete(
        _config,
        *key_of(kind, account_id, subaccount_id),
        condition="#name = :name",
        values={"name": name},
    )
