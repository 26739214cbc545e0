"""Store API keys.

A key is found by its hash. The API shows another id, which begins with the key's owner and sorts by
time; it is looked up in an index, which may take a moment to have a new key.

Access patterns of ``config``:

- the key that a caller presents, by its hash → ``key#<sha256 of the key>`` / ``key`` (cached for
  ``KEY_CACHE_SECONDS``)
- all keys of an account → ``account#<account>/keys`` [by_owner]
- the keys of one owner, newest last → ``account#<account>/keys`` / ``<subaccount, 8 hex digits>*``
  [by_owner]
- one key by its id → ``account#<account>/keys`` / ``<key id>`` [by_owner]
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NotRequired, cast

from chalicelib.api_keys.model import ApiKey, owner_prefix
from chalicelib.api_keys.view import shown_fields
from chalicelib.core import audit, caches, config_cache, dynamo
from chalicelib.core.config_cache import Key
from chalicelib.core.dynamo import ConditionFailed, Table, TransactionFailed, Write
from chalicelib.core.owner_keys import OwnedKeys, account_partition, owned_items
from chalicelib.core.request import NOBODY, Actor
from chalicelib.core.scope import Scope


class ApiKeyItem(OwnedKeys):
    """An API key; its hash is in the partition key."""

    account_id: int
    subaccount_id: NotRequired[int | None]
    label: str
    #: The first digits of the key, to recognise it by
    short_key: str
    grants: list[str]
    valid_ips: list[str]
    #: In seconds
    created: float
    #: From then on the key is refused, in milliseconds; absent or null: no end
    expires_ms: NotRequired[int | None]
    #: The hour of the last use, in seconds; absent until the first
    last_used: NotRequired[int]
    #: Who made it: ``type``, ``id`` and ``label``; absent where nobody is known
    created_by: NotRequired[dict[str, str]]


RESOURCE = "api-keys"

_config: Table[ApiKeyItem] = Table("config")
_ID = re.compile(r"[0-9a-f]{26}")
_MOST_READ_KEYS = 10_000
_read_keys: dict[str, tuple[ApiKeyItem, ApiKey]] = {}


def key_of(key_id: str) -> Key:
    """Return the key of the item of a key with this hash."""
    return (f"key#{key_id}", "key")


def get(key_id: str) -> ApiKey | None:
    """Return the record of the key with this hash, or ``None``."""
    item = _config.get(*key_of(key_id), consistent=False)
    return from_item(item) if item else None


def put(key: ApiKey) -> None:
    """Store a key, replacing the record of the same key."""
    audit.commit(dynamo.put(_config, _to_item(key)), _line(None, key))
    config_cache.forget(key_of(key.key_id))


def insertion(key: ApiKey) -> Write:
    """Return the transaction's action that stores a new key."""
    return dynamo.put(_config, _to_item(key), condition="attribute_not_exists(#pk)")


def in_scope(scope: Scope) -> list[ApiKey]:
    """Return the keys in ``scope``, each owner's newest last."""
    prefix = "" if scope.spans else owner_prefix(scope.owner)
    return [from_item(item) for item in owned_items(_config, scope.account_id, "keys", prefix)]


def find(scope: Scope, name: str) -> ApiKey | None:
    """Return the key with the id ``name``, if it is in ``scope``."""
    if not _ID.fullmatch(name):
        return None
    page = _config.query(
        "#owner = :owner AND #owner_key = :name",
        {"owner": account_partition(scope.account_id, "keys"), "name": name},
        index="by_owner",
    )
    keys = [from_item(item) for item in page.items]
    return next((key for key in keys if scope.covers(key.subaccount_id)), None)


def change(key: ApiKey, fields: Mapping[str, Any]) -> bool:
    """Set ``fields`` of a key and no others, which another request may be changing.

    ``fields`` are one or more of ``label``, ``grants``, ``valid_ips`` and ``expires_ms``. Returns
    ``False`` if the key has been deleted.
    """
    sets = ", ".join(f"#{name} = :{name}" for name in fields)
    write = dynamo.update(
        _config,
        *key_of(key.key_id),
        f"SET {sets}",
        values=fields,
        condition="attribute_exists(#pk)",
    )
    after = from_item(cast(ApiKeyItem, {**_to_item(key), **fields}))
    try:
        audit.commit(write, _line(key, after))
    except TransactionFailed:
        return False
    finally:
        config_cache.forget(key_of(key.key_id))
    return True


def note_use(key_id: str, hour: int) -> None:
    """Store that the key with this hash was used in ``hour``, unless it says so or is gone.

    The cache keeps the former hour: forgetting the key would cost its next request a read.
    """
    later = "attribute_exists(#pk) AND (attribute_not_exists(#last_used) OR #last_used < :hour)"
    with suppress(ConditionFailed):
        _config.update(
            *key_of(key_id), "SET #last_used = :hour", values={"hour": hour}, condition=later
        )


def rename_creator(account_id: int, creator: Actor) -> None:
    """Let the keys that an actor has made show the actor's present label, such as a pseudonym.

    No key changes what it may do, and a line of the audit log would keep the former label.
    """
    for key in in_scope(Scope(account_id, None)):
        former = key.created_by
        if (former.type, former.id) == (creator.type, creator.id) and former != creator:
            with suppress(ConditionFailed):
                _config.update(
                    *key_of(key.key_id),
                    "SET #created_by = :creator",
                    values={"creator": creator._asdict()},
                    condition="attribute_exists(#pk)",
                )
            config_cache.forget(key_of(key.key_id))


def delete(key: ApiKey) -> None:
    """Delete a key."""
    exists = "attribute_exists(#pk)"
    with suppress(TransactionFailed):  # another request has deleted it
        audit.commit(
            dynamo.delete(_config, *key_of(key.key_id), condition=exists), _line(key, None)
        )
    config_cache.forget(key_of(key.key_id))


def from_cached(item: ApiKeyItem) -> ApiKey:
    """Return :func:`from_item` of an item of the config cache, read once as long as it is there.

    Reading it takes a third of the time in which a caller is identified.
    """
    entry = _read_keys.get(item["pk"])
    if entry is not None and entry[0] is item:
        return entry[1]
    key = from_item(item)
    if len(_read_keys) >= _MOST_READ_KEYS:
        _read_keys.clear()
    _read_keys[item["pk"]] = (item, key)
    return key


@caches.register
def clear_cache() -> None:
    """Forget the keys that were read."""
    _read_keys.clear()


def from_item(item: ApiKeyItem) -> ApiKey:
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
        expires_ms=item.get("expires_ms"),
        last_used=item.get("last_used"),
        created_by=Actor(**item["created_by"]) if "created_by" in item else NOBODY,
    )


_line: audit.RecordLines[ApiKey] = audit.RecordLines(RESOURCE, lambda each: each.id, shown_fields)


def _to_item(key: ApiKey) -> ApiKeyItem:
    pk, sk = key_of(key.key_id)
    item: ApiKeyItem = {
        "pk": pk,
        "sk": sk,
        "owner": account_partition(key.account_id, "keys"),
        "owner_key": key.id,
        "account_id": key.account_id,
        "subaccount_id": key.subaccount_id,
        "label": key.label,
        "short_key": key.short_key,
        "grants": sorted(key.grants),
        "valid_ips": list(key.valid_ips),
        "created": key.created,
        "expires_ms": key.expires_ms,
    }
    if key.last_used is not None:
        item["last_used"] = key.last_used
    if key.created_by != NOBODY:
        item["created_by"] = key.created_by._asdict()
    return item
