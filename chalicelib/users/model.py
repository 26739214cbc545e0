"""Describe a user of an account, and what a user signs in with.

An address belongs to one user of the whole service. A password is stored as its argon2id hash, the
secret of an authenticator sealed, recovery codes and the tokens of mailed links as SHA-256.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from typing import Any, Final

from chalicelib.api_keys.model import key_id
from chalicelib.core import addresses
from chalicelib.core.audit import Personal
from chalicelib.users import roles

INVITED: Final = "invited"
ACTIVE: Final = "active"
DISABLED: Final = "disabled"
STATUSES: Final = (INVITED, ACTIVE, DISABLED)


@dataclass(frozen=True, slots=True)
class MailedLink:
    """The last link that was mailed for one purpose: its token's SHA-256 and its end (seconds)."""

    digest: str
    expires: float


@dataclass(frozen=True, slots=True)
class Passkey:
    """A WebAuthn credential; ``id`` and ``public_key`` are base64url. Times are seconds."""

    id: str
    public_key: str
    sign_count: int
    name: str
    created: float
    last_used: float | None = None


@dataclass(frozen=True, slots=True)
class User:
    """One user. Times are seconds.

    ``grants`` are those of the role ``custom``. ``stamp`` is in each session: with another stamp
    all sessions of the user are void. ``revision`` is drawn with each change. ``totp`` is the
    sealed secret of the authenticator and ``totp_step`` the last time step that a code was used
    of; ``totp_pending`` is the one that is being set up. ``identities`` are the subjects by
    provider of single sign-on.
    """

    id: str
    account_id: int
    email: str
    role: str
    created: float
    name: str = ""
    status: str = INVITED
    subaccount_id: int | None = None
    grants: tuple[str, ...] = ()
    password: str = ""
    totp: bytes = b""
    totp_step: int = 0
    totp_pending: bytes = b""
    recovery: tuple[str, ...] = ()
    passkeys: tuple[Passkey, ...] = ()
    identities: dict[str, str] = field(default_factory=dict)
    invitation: MailedLink | None = None
    reset: MailedLink | None = None
    last_sign_in: float | None = None
    stamp: str = ""
    revision: str = ""

    @property
    def tfa_enabled(self) -> bool:
        """Tell whether the user has a second factor."""
        return bool(self.totp or self.passkeys)

    @property
    def is_administrator(self) -> bool:
        """Tell whether the user counts as an administrator who can sign in."""
        return self.role == roles.ADMIN and self.status == ACTIVE

    def all_grants(self) -> frozenset[str]:
        """Return what the user may do."""
        return roles.grants_of(self.role, self.grants, self.subaccount_id)


def draw_id() -> str:
    """Draw the id of a user: 20 hex digits."""
    return secrets.token_hex(10)


def draw_secret() -> str:
    """Draw the secret of a session or of a mailed link: 43 characters that are safe in a URL.

    It ends with a letter or a digit: mail programs leave ``-`` and ``_`` out of the end of a link.
    """
    while not (secret := secrets.token_urlsafe(32))[-1].isalnum():
        pass
    return secret


def address_spelling(email: str) -> str:
    """Return the one spelling under which a user is found by any spelling of its address."""
    return addresses.spelling(email) if addresses.is_address(email) else email.lower()


def digest(secret: str) -> str:
    """Return the SHA-256 under which a secret of at least 128 random bits is stored (hex)."""
    return key_id(secret)


def shown_fields(user: User) -> dict[str, Any]:
    """Return the fields of a user that the audit log tells about, without who it is.

    The lines outlive the user: only its id tells them apart.
    """
    return {
        "name": Personal(user.name) if user.name else "",
        "role": user.role,
        "status": user.status,
        "subaccount_id": user.subaccount_id,
        "grants": sorted(user.grants),
        "tfa_enabled": user.tfa_enabled,
        # Shown as hidden: a line tells that it changed
        "password": user.password,
        "passkeys": len(user.passkeys),
        "identities": sorted(user.identities),
    }
