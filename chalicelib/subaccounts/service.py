"""Create a subaccount, with or without its first key."""

from __future__ import annotations

from typing import Any

from chalicelib.api_keys import model as key_model
from chalicelib.api_keys import store as api_keys
from chalicelib.api_keys.request import check_grants
from chalicelib.core import clock
from chalicelib.core.request import Caller
from chalicelib.subaccounts import store
from chalicelib.subaccounts.model import Subaccount
from chalicelib.subaccounts.request import NewSubaccount


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
        store.create(subaccount)
        return view
    secret = key_model.draw_key()
    key = key_model.new_key(
        secret,
        account_id,
        new.key.label or "",
        new.key.grants or (),
        subaccount_id=subaccount.id,
        valid_ips=new.key.valid_ips or (),
    )
    store.create(subaccount, [api_keys.insertion(key)])
    return view | {"key": secret, "label": key.label, "short_key": key.short_key}
