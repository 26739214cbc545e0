"""Store accounts.

A change is conditional on the ``updated`` time that it was made from.

Access patterns of ``config``:

- one account → ``account#<account>`` / ``account`` (for requests and transmissions it is cached for
  ``KEY_CACHE_SECONDS``)
- all accounts, by id → ``accounts`` / ``<account, 10 digits>`` [by_owner]
- the id of the next account → ``counter#accounts`` / ``counter``
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from typing import Any, cast

from chalicelib.accounts.model import Account, Cancellation, shown_fields
from chalicelib.accounts.plan import Plan
from chalicelib.core import audit, clock, config_cache, dynamo
from chalicelib.core.config_cache import Key
from chalicelib.core.dynamo import Keyed, Table, TransactionFailed, Write
from chalicelib.core.owner_keys import OwnedKeys
from chalicelib.core.scope import PRIMARY


class AccountItem(OwnedKeys):
    """An account: the fields of ``Account``; its times are seconds."""

    customer_id: int
    company_name: str
    created: float
    updated: float
    country_code: str
    status: str
    status_reason_category: str
    status_updated: float
    tfa_required: bool
    service_level: str
    #: The fields of ``Plan``
    subscription: dict[str, Any] | None
    #: The fields of ``Plan``
    pending_subscription: dict[str, Any] | None
    #: The fields of ``Cancellation``
    pending_cancellation: dict[str, Any] | None
    options: dict[str, Any]


class LastAccountItem(Keyed):
    """The last id of an account that was drawn."""

    last: int


_config: Table[AccountItem] = Table("config")
_last_id: Table[LastAccountItem] = Table("config")
_NOT_FIELDS = ("pk", "sk", "owner", "owner_key")


class UnknownAccount(LookupError):
    """There is no account with this id."""

    def __init__(self, account_id: int) -> None:
        super().__init__(f"account {account_id} does not exist")


def key_of(account_id: int) -> Key:
    """Return the key of an account."""
    return (f"account#{account_id}", "account")


def get(account_id: int) -> Account | None:
    """Return the account, or ``None``."""
    item = _config.get(*key_of(account_id))
    return from_item(item) if item else None


def get_cached(account_id: int) -> Account:
    """Return the account from the config cache; raises :class:`UnknownAccount`."""
    key = key_of(account_id)
    items = config_cache.read([key])
    if key not in items:
        raise UnknownAccount(account_id)
    return from_item(items[key])


def all_accounts() -> list[Account]:
    """Return all accounts, by id."""
    items = _config.query_all("#owner = :owner", {"owner": "accounts"}, index="by_owner")
    return [from_item(item) for item in items]


def create(account: Account) -> bool:
    """Store a new account; return ``False`` if its id is taken."""
    new = dynamo.put(_config, _to_item(account), condition="attribute_not_exists(#pk)")
    try:
        audit.commit(new, _line(None, account))
    except TransactionFailed:
        return False
    return True


def draw_id() -> int:
    """Draw the next id; an account that was created with a chosen id may have it."""
    counter = _last_id.update("counter#accounts", "counter", "ADD #last :one", values={"one": 1})
    return int(counter["last"])


def change(account_id: int, edit: Callable[[Account], Account]) -> Account:
    """Change an account by ``edit`` and return it.

    ``edit`` may be called again if another writer changes the account meanwhile. Raises
    :class:`UnknownAccount`, and 503 when other writers come first every time.
    """

    def attempt() -> Account:
        record = get(account_id)
        if record is None:
            raise UnknownAccount(account_id)
        now = clock.now()
        before = record.at(now)
        after = replace(edit(before), updated=now)
        unchanged = dynamo.if_unchanged("updated", record.updated)
        audit.commit(dynamo.put(_config, _to_item(after), **unchanged), _line(before, after))
        return after

    account = dynamo.retry_conflicts(attempt)
    config_cache.forget(key_of(account_id))
    return account


def from_item(item: AccountItem) -> Account:
    """Return the account that an item of the table holds."""
    attributes: Mapping[str, Any] = item
    fields = {name: value for name, value in attributes.items() if name not in _NOT_FIELDS}
    for name, kind in (
        ("subscription", Plan),
        ("pending_subscription", Plan),
        ("pending_cancellation", Cancellation),
    ):
        fields[name] = kind(**fields[name]) if fields[name] else None
    return Account(**fields)


def _line(before: Account | None, after: Account) -> list[Write]:
    """Return the line of the audit log about a change of an account."""
    former = shown_fields(before) if before else None
    present = shown_fields(after)
    name = str(after.customer_id)
    return audit.change_line(name, former, present, resource="account", subaccount_id=PRIMARY)


def _to_item(account: Account) -> AccountItem:
    pk, sk = key_of(account.customer_id)
    keys = {"pk": pk, "sk": sk, "owner": "accounts", "owner_key": f"{account.customer_id:010d}"}
    return cast(AccountItem, keys | asdict(account))
