"""Store which record of a kind is its owner's default: at most one for each owner.

An owner is the primary account or a subaccount. The record itself has a flag as well; its store
changes both in one transaction, with the actions below.

Access patterns of ``config``:

- the default of an owner → ``default#<kind>#<account>`` / ``<subaccount>``
"""

from __future__ import annotations

from chalicelib.core import dynamo
from chalicelib.core.dynamo import Key, Table, Write
from chalicelib.core.reading import Read, read_config
from chalicelib.core.scope import PRIMARY

_config = Table("config")


def of_owner(
    kind: str, account_id: int, subaccount_id: int | None, read: Read = read_config
) -> str | None:
    """Return the name of the owner's default, or ``None``."""
    key = key_of(kind, account_id, subaccount_id)
    item = read([key]).get(key)
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
    items = read(keys)
    return [items[key]["name"] for key in keys if key in items]


def setting(
    kind: str, account_id: int, subaccount_id: int | None, name: str, former: str | None
) -> Write:
    """Return the action that makes ``name`` the default if it still is ``former``."""
    pk, sk = key_of(kind, account_id, subaccount_id)
    return dynamo.put(
        _config,
        {"pk": pk, "sk": sk, "name": name},
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
