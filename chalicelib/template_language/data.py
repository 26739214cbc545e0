"""Merge the four sources of a template's data with the variables of the service (spec 2.1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .words import RESERVED


def merge_data(
    *,
    transmission_metadata: Mapping[str, Any] | None = None,
    transmission_data: Mapping[str, Any] | None = None,
    recipient_metadata: Mapping[str, Any] | None = None,
    recipient_data: Mapping[str, Any] | None = None,
    address: Mapping[str, Any] | None = None,
    env_from: str | None = None,
    return_path: str | None = None,
) -> dict[str, Any]:
    """Return the merged top-level variables; for each name, the last source that has it wins.

    With an ``address`` (keys email and perhaps name) the automatic variables are set: address with
    name and email, email, email_id, env_from and return_path. Reserved names in the sources are
    then ignored. Without an address, as in a preview, the sources may set them.
    """
    merged = {
        **(transmission_metadata or {}),
        **(transmission_data or {}),
        **(recipient_metadata or {}),
        **(recipient_data or {}),
    }
    if address is None:
        return merged
    for name in RESERVED & merged.keys():
        del merged[name]
    email = address.get("email")
    merged["address"] = {"name": address.get("name"), "email": email}
    merged["email"] = merged["email_id"] = email
    merged["env_from"] = env_from
    merged["return_path"] = return_path
    return merged


def reserved_keys(data: Mapping[str, Any]) -> list[str]:
    """Return the top-level keys of ``data`` that templates cannot use, in alphabetical order."""
    return sorted(RESERVED & data.keys())
