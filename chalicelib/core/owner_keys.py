"""Build the keys that name an owner, and read what an owner has from the index ``by_owner``.

An owner is the primary account of an account or one of its subaccounts. Keys are compared as text,
so an owner is ten digits in them.
"""

from __future__ import annotations

from collections.abc import Iterator

from chalicelib.core.dynamo import ItemT, Keyed, Table
from chalicelib.core.scope import PRIMARY, Scope


class OwnedKeys(Keyed):
    """The keys of an item that is in the index ``by_owner`` as well."""

    owner: str
    owner_key: str


def owner_digits(subaccount_id: int | None) -> str:
    """Return an owner in the form that keys have: ten digits, zeros for the primary account."""
    return f"{subaccount_id or PRIMARY:010d}"


def account_partition(account_id: int, resource: str) -> str:
    """Return the partition key of one kind of resource that an account has (``templates``)."""
    return f"account#{account_id}/{resource}"


def owner_prefix(scope: Scope, separator: str) -> str:
    """Return the prefix of the keys of a scope; it is empty for all owners of an account."""
    return "" if scope.spans else owner_digits(scope.owner) + separator


def owned_items(
    table: Table[ItemT], account_id: int, resource: str, prefix: str = ""
) -> Iterator[ItemT]:
    """Yield an account's items of one kind of resource, in the order of the index ``by_owner``.

    There, ``owner`` is the :func:`account_partition` and ``owner_key`` begins with ``prefix``.
    """
    key, values = "#owner = :owner", {"owner": account_partition(account_id, resource)}
    if prefix:
        key += " AND begins_with(#owner_key, :prefix)"
        values["prefix"] = prefix
    return table.query_all(key, values, index="by_owner")
