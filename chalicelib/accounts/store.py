"""Where accounts are kept.

Access patterns (table ``config``):

- one account by its id → ``pk = account#<id>``, ``sk = account``
"""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import Any

from chalicelib.accounts.model import Account
from chalicelib.core.dynamo import ConditionFailed, Table

_config = Table("config")
_FIELDS = {field.name for field in fields(Account)}


def _key(account_id: int) -> str:
    return f"account#{account_id}"


def get(account_id: int) -> Account | None:
    """Return the account, or ``None``."""
    item = _config.get(_key(account_id), "account")
    return _from_item(item) if item else None


def create(account: Account) -> bool:
    """Store a new account; return ``False`` if its id is taken."""
    try:
        _config.create({"pk": _key(account.customer_id), "sk": "account"} | asdict(account))
    except ConditionFailed:
        return False
    return True


def _from_item(item: dict[str, Any]) -> Account:
    return Account(**{name: value for name, value in item.items() if name in _FIELDS})
