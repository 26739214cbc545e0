"""Where accounts are kept.

Access patterns (table ``config``):

- one account by its id → ``pk = account#<id>``, ``sk = account``
- the accounts that act on a request → the same, remembered for ``KEY_CACHE_SECONDS``
- all accounts, by id → index ``by_owner``: ``owner = accounts``
- the next account's id → ``pk = counter#accounts``, ``sk = counter``
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace

from chalicelib.accounts.model import Account, Cancellation
from chalicelib.accounts.plan import Plan
from chalicelib.core import clock, config_cache
from chalicelib.core.config_cache import Key
from chalicelib.core.dynamo import ConditionFailed, Item, Table
from chalicelib.core.errors import Unavailable

_config = Table("config")
_NOT_FIELDS = ("pk", "sk", "owner", "owner_key")
_ATTEMPTS = 20


class UnknownAccount(LookupError):
    """There is no account with this id."""

    def __init__(self, account_id: int) -> None:
        super().__init__(f"account {account_id} does not exist")


def key_of(account_id: int) -> Key:
    """Return where the account is kept."""
    return (f"account#{account_id}", "account")


def get(account_id: int) -> Account | None:
    """Return the account, or ``None``."""
    item = _config.get(*key_of(account_id))
    return from_item(item) if item else None


def get_cached(account_id: int) -> Account:
    """Return the account of a caller, as remembered; raises :class:`UnknownAccount`."""
    key = key_of(account_id)
    found = config_cache.read([key])
    if key not in found:
        raise UnknownAccount(account_id)
    return from_item(found[key])


def all_accounts() -> list[Account]:
    """Return all accounts, by id."""
    items = _config.query_all("#owner = :owner", {"owner": "accounts"}, index="by_owner")
    return [from_item(item) for item in items]


def create(account: Account) -> bool:
    """Store a new account; return ``False`` if its id is taken."""
    try:
        _config.create(_to_item(account))
    except ConditionFailed:
        return False
    return True


def draw_id() -> int:
    """Draw the next id; it may be that of an account which was given its id."""
    counter = _config.update("counter#accounts", "counter", "ADD #last :one", values={"one": 1})
    return int(counter["last"])


def change(account_id: int, edit: Callable[[Account], Account]) -> Account:
    """Change an account by ``edit``, which may be called again if others change it meanwhile.

    Raises :class:`UnknownAccount`, and 503 when too many others do.
    """
    for _ in range(_ATTEMPTS):
        before = get(account_id)
        if before is None:
            raise UnknownAccount(account_id)
        now = clock.now()
        after = replace(edit(before.at(now)), updated=now)
        try:
            _config.put(
                _to_item(after), condition="#updated = :seen", values={"seen": before.updated}
            )
        except ConditionFailed:
            continue
        config_cache.forget(key_of(account_id))
        return after
    raise Unavailable


def from_item(item: Item) -> Account:
    """Return the account that an item of the table holds."""
    fields = {name: value for name, value in item.items() if name not in _NOT_FIELDS}
    for name, kind in (
        ("subscription", Plan),
        ("pending_subscription", Plan),
        ("pending_cancellation", Cancellation),
    ):
        fields[name] = kind(**fields[name]) if fields[name] else None
    return Account(**fields)


def _to_item(account: Account) -> Item:
    pk, sk = key_of(account.customer_id)
    keys = {"pk": pk, "sk": sk, "owner": "accounts", "owner_key": f"{account.customer_id:010d}"}
    return keys | asdict(account)
