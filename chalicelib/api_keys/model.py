"""Describe an API key; the key itself is never stored, only its SHA-256 (spec 5.2).

A key is 160 random bits (or the operator's choice at first start), so a fast hash is enough.
Looking it up by its hash compares nothing that an attacker could time. The API does not show the
hash: there a key is named by :attr:`ApiKey.id`.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from chalicelib.core import clock
from chalicelib.core.request import NOBODY, Actor


@dataclass(frozen=True, slots=True)
class ApiKey:
    """One key. ``subaccount_id`` is ``None`` for a key of the primary account.

    ``key_id`` is the hash under which the key is found. An empty ``valid_ips`` admits every
    address (spec 5.4). From ``expires_ms`` on the key is refused; ``None`` is no end. ``last_used``
    is the hour of its last use, in seconds; ``None`` is never. ``created_by`` is ``NOBODY`` for the
    keys of first starts and of earlier versions.
    """

    key_id: str
    account_id: int
    label: str
    short_key: str
    grants: frozenset[str]
    created: float
    subaccount_id: int | None = None
    valid_ips: list[str] = field(default_factory=list)
    expires_ms: int | None = None
    last_used: int | None = None
    created_by: Actor = NOBODY

    @property
    def id(self) -> str:
        """Return the key's name in the API: 26 hex digits that sort by owner, then by time.

        It is derived from the record. It holds too little of the hash to test guesses.
        """
        salt = hashlib.sha256(self.key_id.encode()).hexdigest()[:4]
        return f"{owner_prefix(self.subaccount_id)}{int(self.created * 1e6):014x}{salt}"

    def has_expired(self, now_ms: int) -> bool:
        """Tell whether the key's end has come."""
        return self.expires_ms is not None and self.expires_ms <= now_ms


def new_key(
    key: str,
    account_id: int,
    label: str,
    grants: Iterable[str],
    *,
    subaccount_id: int | None = None,
    valid_ips: Sequence[str] = (),
    expires_ms: int | None = None,
    created_by: Actor = NOBODY,
) -> ApiKey:
    """Return the record of ``key``, created now."""
    return ApiKey(
        key_id=key_id(key),
        account_id=account_id,
        label=label,
        short_key=short_key(key),
        grants=frozenset(grants),
        created=clock.now(),
        subaccount_id=subaccount_id,
        valid_ips=list(valid_ips),
        expires_ms=expires_ms,
        created_by=created_by,
    )


def owner_prefix(subaccount_id: int | None) -> str:
    """Return the prefix of the ids of an owner's keys."""
    return f"{subaccount_id or 0:08x}"


def draw_key() -> str:
    """Draw a new key: 40 hex digits."""
    return secrets.token_hex(20)


def key_id(key: str) -> str:
    """Return the hash under which ``key`` is stored (SHA-256, hex)."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


def short_key(key: str) -> str:
    """Return the first 4 characters of a key: only these are shown after its creation."""
    return key[:4]
