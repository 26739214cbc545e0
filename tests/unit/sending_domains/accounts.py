"""Accounts for tests."""

from __future__ import annotations

from chalicelib.accounts.model import ENTERPRISE, STANDARD, Account
from chalicelib.accounts.store import accounts


def create_account(account_id: int, *, enterprise: bool = False) -> None:
    """Store an account."""
    level = ENTERPRISE if enterprise else STANDARD
    accounts.create(Account(account_id, "A company", created=1.0, updated=1.0, service_level=level))
