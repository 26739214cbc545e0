"""Show API keys as the API does (spec 5.2): everything but the key itself."""

from __future__ import annotations

from typing import Any

from chalicelib.api_keys.model import ApiKey
from chalicelib.core import clock

#: What the owner of a key decides
_SETTINGS = ("label", "grants", "valid_ips", "expires_at", "subaccount_id")


def key_view(key: ApiKey) -> dict[str, Any]:
    """Return a key without its secret."""
    view = {
        "id": key.id,
        "label": key.label,
        "short_key": key.short_key,
        "grants": sorted(key.grants),
        "valid_ips": key.valid_ips,
        "created_at": clock.iso_ms(int(key.created * 1000)),
    }
    return view | ({"subaccount_id": key.subaccount_id} if key.subaccount_id else {})


def shown_fields(key: ApiKey) -> dict[str, Any]:
    """Return the fields of a key that the audit log tells about."""
    return {name: value for name, value in key_view(key).items() if name in _SETTINGS}
