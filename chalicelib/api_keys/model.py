"""The API key record. The key itself is never stored: only its SHA-256 (spec 5.2).

A key is 160 random bits (or an operator's own choice at first start), so a fast hash is enough;
looking it up by its hash compares nothing that an attacker could time.
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class ApiKey:
    """One key. ``subaccount_id`` is ``None`` for a key of the primary account."""

    key_id: str
    account_id: int
    label: str
    short_key: str
    grants: frozenset[str]
    created: float
    subaccount_id: int | None = None
    valid_ips: list[str] = field(default_factory=list)


def draw_key() -> str:
    """Draw a new key: 40 hex digits."""
    return secrets.token_hex(20)


def key_id(key: str) -> str:
    """Return the id under which ``key`` is stored (SHA-256, hex)."""
    return hashlib.sha256(key.encode()).hexdigest()


def short_key(key: str) -> str:
    """Return what is shown of a key after its creation: its first 4 characters."""
    return key[:4]
