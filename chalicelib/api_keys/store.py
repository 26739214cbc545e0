"""Where API keys are kept.

Access patterns (table ``config``):

- the record of a key presented → ``pk = key#<sha256 of the key>``, ``sk = key``
- all keys of an account → index ``by_owner``: ``owner = account#<id>/keys``
- the keys of the primary account or of one subaccount, newest last → the same, as an id, which is
  the ``owner_key``, begins with its owner
- one key by its id → the same; being an index, it may take a moment to know a new key
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from chalicelib.api_keys.model import ApiKey, owner_prefix
from chalicelib.core import config_cache, dynamo
from chalicelib.core.config_cache import Key
from chalicelib.core.dynamo import ConditionFailed, Item, Table, Write
from chalicelib.core.scope import Scope

_config = Table("config")
_ID = re.compile(r"[0-9a-f]{26}")


def key_of(key_id: str) -> Key:
    """Return where the key with this hash is kept."""
    return (f"key#{key_id}", "key")


def get(key_id: str) -> ApiKey | None:
    """Return the record of the key with this hash, or ``None``."""
    item = _config.get(*key_of(key_id), consistent=False)
    return from_item(item) if item else None


def put(key: ApiKey) -> None:
    """Store a key, replacing the record of the same key."""
    _config.put(_to_item(key))
    config_cache.forget(key_of(key.key_id))


def insertion(key: ApiKey) -> Write:
    """Return the transaction's action that stores a new key."""
    return dynamo.put(_config, _to_item(key), condition="attribute_not_exists(#pk)")


def listed(scope: Scope) -> list[ApiKey]:
    """Return the keys in ``scope``, each owner's newest last."""
    return [from_item(item) for item in _items(scope)]


def find(scope: Scope, name: str) -> ApiKey | None:
    """Return the key with the id ``name``, if it is in ``scope``."""
    if not _ID.fullmatch(name):
        return None
    found = _config.query(
        "#owner = :owner AND #owner_key = :name",
        {"owner": _owner(scope.account_id), "name": name},
        index="by_owner",
    )
    keys = [from_item(item) for item in found.items]
    return next((key for key in keys if scope.covers(key.subaccount_id)), None)


def change(key: ApiKey, fields: Mapping[str, Any]) -> bool:
    """Set ``fields`` of a key, and only these: somebody may change the others at the same time.

    ``fields`` are one or more of ``label``, ``grants`` and ``valid_ips``. Returns ``False`` if the
    key is gone meanwhile.
    """
    sets = ", ".join(f"#{name} = :{name}" for name in fields)
    exists = "attribute_exists(#pk)"
    try:
        _config.update(*key_of(key.key_id), f"SET {sets}", values=fields, condition=exists)
    except ConditionFailed:
        return False
    finally:
        config_cache.forget(key_of(key.key_id))
    return True


def delete(key: ApiKey) -> None:
    """Delete a key."""
    _config.delete(*key_of(key.key_id))
    config_cache.forget(key_of(key.key_id))


def from_item(item: Item) -> ApiKey:
    """Return the key that an item of the table holds."""
    return ApiKey(
        key_id=item["pk"].removeprefix("key#"),
        account_id=item["account_id"],
        subaccount_id=item.get("subaccount_id"),
        label=item["label"],
        short_key=item["short_key"],
        grants=frozenset(item["grants"]),
        valid_ips=item["valid_ips"],
        created=item["created"],
    )


def _items(scope: Scope) -> Iterator[Item]:
    owner = _owner(scope.account_id)
    if scope.spans:
        return _config.query_all("#owner = :owner", {"owner": owner}, index="by_owner")
    return _config.query_all(
        "#owner = :owner AND begins_with(#owner_key, :prefix)",
        {"owner": owner, "prefix": owner_prefix(scope.owner)},
        index="by_owner",
    )


def _owner(account_id: int) -> str:
    return f"account#{account_id}/keys"


def _to_item(key: ApiKey) -> Item:
    pk, sk = key_of(key.key_id)
    return {
        "pk": pk,
        "sk": sk,
        "owner": _owner(key.account_id),
        "owner_key": key.id,
        "account_id": key.account_id,
        "subaccount_id": key.subaccount_id,
        "label": key.label,
        "short_key": key.short_key,
        "grants": sorted(key.grants),
        "valid_ips": list(key.valid_ips),
        "created": key.created,
    }
