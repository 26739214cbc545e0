"""Where API keys are kept.

Access patterns (table ``config``):

- the record of a key presented → ``pk = key#<sha256 of the key>``, ``sk = key``
- all keys of an account, newest last → index ``by_owner``: ``owner = account#<id>/keys``
"""

from __future__ import annotations

from typing import Any

from chalicelib.api_keys.model import ApiKey
from chalicelib.core.dynamo import Table

_config = Table("config")


def get(key_id: str) -> ApiKey | None:
    """Return the record of the key with this id, or ``None``."""
    item = _config.get(f"key#{key_id}", "key", consistent=False)
    return _from_item(item) if item else None


def put(key: ApiKey) -> None:
    """Store a key, replacing the record of the same key."""
    _config.put(
        {
            "pk": f"key#{key.key_id}",
            "sk": "key",
            "owner": f"account#{key.account_id}/keys",
            "owner_key": f"{key.created:017.6f}",
            "account_id": key.account_id,
            "subaccount_id": key.subaccount_id,
            "label": key.label,
            "short_key": key.short_key,
            "grants": sorted(key.grants),
            "valid_ips": list(key.valid_ips),
            "created": key.created,
        }
    )


def _from_item(item: dict[str, Any]) -> ApiKey:
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
