"""Keep the addresses that seed messages go to.

Access patterns of ``config``:

- the seed addresses of all accounts that have none of their own → ``seeds`` / ``all``
- the seed addresses of one account → ``seeds`` / ``account#<account>``
"""

from __future__ import annotations

from typing import Final

from chalicelib.core import audit, dynamo
from chalicelib.core.dynamo import Key, Keyed, Table, Write
from chalicelib.core.scope import PRIMARY
from chalicelib.core.settings import settings

MOST_ADDRESSES: Final = 1000


class SeedAddressesItem(Keyed):
    """The seed addresses of one account or of all that have none of their own."""

    addresses: list[str]


_config: Table[SeedAddressesItem] = Table("config")


def of_account(account_id: int | None) -> list[str]:
    """Return the seed addresses of an account: its own, else those of all, else the setting's.

    ``None`` asks for those of all accounts that have none of their own.
    """
    keys = dict.fromkeys((_key(account_id), _key(None)))
    items = {item["sk"]: item for item in _config.get_all(keys, consistent=True)}
    for _, sk in keys:
        if sk in items:
            return list(items[sk]["addresses"])
    return [text.strip() for text in settings().seed_addresses.split(",") if text.strip()]


def put(account_id: int | None, addresses: list[str]) -> None:
    """Set the seed addresses of one account, or of all that have none of their own (``None``).

    An empty list removes them.
    """
    pk, sk = _key(account_id)
    if addresses:
        item: SeedAddressesItem = {"pk": pk, "sk": sk, "addresses": addresses}
        write = dynamo.put(_config, item)
    else:
        write = dynamo.delete(_config, pk, sk)
    # What concerns all accounts is in the log of none
    audit.commit(write, _line(account_id, addresses) if account_id is not None else [])


def _line(account_id: int, addresses: list[str]) -> list[Write]:
    """Return the line of the audit log about the addresses of an account."""
    fields = {"addresses": addresses}
    return audit.line(str(account_id), None, fields, resource="seeds", subaccount_id=PRIMARY)


def _key(account_id: int | None) -> Key:
    return ("seeds", "all" if account_id is None else f"account#{account_id}")
