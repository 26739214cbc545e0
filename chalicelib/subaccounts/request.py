"""Read the bodies of ``/subaccounts`` (spec 4.5); errors name the parameter (spec 7)."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

from chalicelib.api_keys.grants import SUBACCOUNT_GRANTS
from chalicelib.api_keys.request import KeyFields, read_key
from chalicelib.core import options
from chalicelib.core.params import Params
from chalicelib.fleet import store as fleets
from chalicelib.subaccounts.model import DEFAULT_OPTIONS, STATUSES, Subaccount

MOST_NAME = 64
MOST_POOL = 20

_POOL = re.compile(r"\w*", re.ASCII)


@dataclass(frozen=True, slots=True)
class NewSubaccount:
    """A subaccount to create; ``key`` is ``None`` if no key is requested."""

    name: str
    ip_pool: str
    options: dict[str, bool]
    key: KeyFields | None


@dataclass(frozen=True, slots=True)
class SubaccountChange:
    """The changes of a subaccount; ``None`` leaves a field."""

    name: str | None
    status: str | None
    ip_pool: str | None
    options: options.Changes

    def apply(self, subaccount: Subaccount) -> Subaccount:
        """Return ``subaccount`` with the changes."""
        texts = {"name": self.name, "status": self.status, "ip_pool": self.ip_pool}
        fields: dict[str, Any] = {name: text for name, text in texts.items() if text is not None}
        return replace(
            subaccount, options=options.changed(subaccount.options, self.options), **fields
        )


def read_new(account_id: int, body: Any) -> NewSubaccount:
    """Read the body of a creation in the account; raises 400 with every fault."""
    params = Params(body)
    name = params.text("name", most=MOST_NAME, required=True)
    wants_key = params.flag("setup_api_key") is not False
    key = read_key(params, SUBACCOUNT_GRANTS, prefix="key_", required=True) if wants_key else None
    pool, changes = _check_pool(account_id, params), params.options("options", DEFAULT_OPTIONS)
    params.check()
    return NewSubaccount(name or "", pool or "", options.changed({}, changes), key)


def read_change(account_id: int, body: Any) -> SubaccountChange:
    """Read the body of an update in the account; raises 400 with every fault."""
    params = Params(body)
    change = SubaccountChange(
        params.text("name", most=MOST_NAME),
        params.choice("status", STATUSES),
        _check_pool(account_id, params),
        params.options("options", DEFAULT_OPTIONS),
    )
    params.check()
    return change


def _check_pool(account_id: int, params: Params) -> str | None:
    """Read ``ip_pool``: the id of a pool of the account, or nothing to lift the restriction."""
    pool = params.text("ip_pool", most=MOST_POOL, blank=True)
    if pool is not None and not _POOL.fullmatch(pool):
        params.refuse("ip_pool", "ip_pool must hold letters, digits and underscores only", pool)
    elif pool and not fleets.exists(account_id, pool):
        params.refuse("ip_pool", f"ip_pool: pool {pool} does not exist", pool)
    return pool
