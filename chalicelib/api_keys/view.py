"""Show API keys as the API does (spec 5.2): everything but the key itself."""

from __future__ import annotations

from typing import Any

from chalicelib.api_keys.model import ApiKey
from chalicelib.core import clock
from chalicelib.core.request import NOBODY

#: What the owner of a key decides
_SETTINGS = ("label", "grants", "valid_ips", "expires_at", "subaccount_id")


def key_view(key: ApiKey, *, confined: bool = False) -> dict[str, Any]:
    """Return a key without its secret.

    A caller who is ``confined`` to a subaccount is not shown the address of a user who made it.
    """
    view = {
        "id": key.id,
        "label": key.label,
        "short_key": key.short_key,
        "grants": sorted(key.grants),
        "valid_ips": key.valid_ips,
        "created_at": clock.iso_ms(int(key.created * 1000)),
        "expires_at": None if key.expires_ms is None else clock.iso_ms(key.expires_ms),
        "created_by": _creator_view(key, confined),
        "last_used": None if key.last_used is None else clock.iso_ms(key.last_used * 1000),
    }
    return view | ({"subaccount_id": key.subaccount_id} if key.subaccount_id else {})


def _creator_view(key: ApiKey, confined: bool) -> dict[str, str] | None:
    if key.created_by == NOBODY:
        return None
    hides = confined and key.created_by.type == "user"
    return key.created_by._asdict() | ({"label": ""} if hides else {})


def shown_fields(key: ApiKey) -> dict[str, Any]:
    """Return the fields of a key that the audit log tells about."""
    return {name: value for name, value in key_view(key).items() if name in _SETTINGS}
