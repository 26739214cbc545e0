"""Create a subaccount, with or without its first key, and change one."""

from __future__ import annotations

from typing import Any

from chalicelib.api_keys import model as key_model
from chalicelib.api_keys import store as api_keys
from chalicelib.api_keys.model import ApiKey
from chalicelib.api_keys.request import check_grants
from chalicelib.api_keys.view import shown_fields
from chalicelib.core import clock
from chalicelib.core.dynamo import Write, retry_conflicts
from chalicelib.core.request import Caller
from chalicelib.fleet import store as fleets
from chalicelib.subaccounts import store
from chalicelib.subaccounts.model import Subaccount
from chalicelib.subaccounts.request import NewSubaccount, SubaccountChange


def create(caller: Caller, new: NewSubaccount) -> dict[str, Any]:
    """Create a subaccount and its key, both or neither; return the results of the reply.

    They have ``subaccount_id`` and, if a key was requested, ``key`` (which is shown only once),
    ``label`` and ``short_key``. Raises 403 if the key would get grants that the caller does not
    hold.
    """
    account_id, now = caller.account_id, clock.now()
    if new.key is not None:
        check_grants(new.key.grants, caller.grants)
    subaccount = Subaccount(
        id=store.draw_id(),
        account_id=account_id,
        name=new.name,
        created=now,
        updated=now,
        ip_pool=new.ip_pool,
        options=new.options,
    )
    view: dict[str, Any] = {"subaccount_id": subaccount.id}
    if new.key is None:
        _store(subaccount)
        return view
    secret = key_model.draw_key()
    key = key_model.new_key(
        secret,
        account_id,
        new.key.label or "",
        new.key.grants or (),
        subaccount_id=subaccount.id,
        valid_ips=new.key.valid_ips or (),
        expires_ms=new.key.expires_ms,
        created_by=caller.actor,
    )
    _store(subaccount, key)
    return view | {"key": secret, "label": key.label, "short_key": key.short_key}


def change(account_id: int, subaccount_id: int, changes: SubaccountChange) -> bool:
    """Change a subaccount of the account; return ``False`` if there is none. Raises 400."""
    subaccount = store.change(
        account_id, subaccount_id, changes.apply, lambda: _naming(account_id, changes.ip_pool)
    )
    return subaccount is not None


def _store(subaccount: Subaccount, key: ApiKey | None = None) -> None:
    """Store a new subaccount with its key, while its pool exists; raises 400."""
    insertions = [api_keys.insertion(key)] if key else []
    keys = {"keys": [{"id": key.id} | shown_fields(key)]} if key else {}

    def attempt() -> None:
        naming = _naming(subaccount.account_id, subaccount.ip_pool)
        store.create(subaccount, [*insertions, *naming], keys)

    retry_conflicts(attempt)


def _naming(account_id: int, pool_id: str | None) -> list[Write]:
    return fleets.naming(account_id, pool_id) if pool_id else []
