"""Create, change and delete the pools of an account, and change its sending IPs (spec 4.7)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from chalicelib.accounts.store import accounts
from chalicelib.core import clock, references
from chalicelib.core.dynamo import Write
from chalicelib.core.errors import bad_request
from chalicelib.core.scope import Scope
from chalicelib.fleet import store
from chalicelib.fleet.model import Fleet, IpPool
from chalicelib.fleet.warmup import tomorrow_ms
from chalicelib.ip_pools import changes
from chalicelib.ip_pools.request import IpChange, PoolFields
from chalicelib.sending_domains import store as domains
from chalicelib.sending_domains.model import SendingDomain
from chalicelib.subaccounts import store as subaccounts


def visible_fleet(scope: Scope) -> tuple[Fleet, Callable[[str], bool]]:
    """Return the fleet, and a function that tells whether the caller may see a pool by its id.

    A subaccount that sends by one pool only sees only that pool.
    """
    fleet = store.get(scope.account_id)
    subaccount = subaccounts.get(scope.account_id, scope.owner) if scope.owner else None
    if subaccount is None or not subaccount.ip_pool:
        return fleet, lambda pool_id: True
    own = subaccount.ip_pool.lower()
    return fleet, lambda pool_id: pool_id == own


def create_pool(account_id: int, fields: PoolFields) -> str:
    """Create a pool and return its id, which is made from its name; raises 400."""
    fields = check_domains(account_id, fields)
    enterprise = accounts.get_cached(account_id).is_enterprise
    pool_id = ""

    def edit(fleet: Fleet) -> Fleet:
        nonlocal pool_id
        pool_id = changes.id_for(fleet, fields.name or "")
        return changes.with_new_pool(fleet, pool_id, fields, enterprise=enterprise)

    store.change(
        account_id,
        edit,
        lambda: _naming(account_id, fields),
        lambda before, after: store.pool_line(before, after, pool_id),
    )
    return pool_id


def update_pool(account_id: int, pool_id: str, fields: PoolFields) -> IpPool:
    """Change the fields of a pool that are given, and return it; raises 400 and 404."""
    fields = check_domains(account_id, fields)
    enterprise = accounts.get_cached(account_id).is_enterprise
    fleet = store.change(
        account_id,
        lambda fleet: changes.with_changed_pool(fleet, pool_id, fields, enterprise=enterprise),
        lambda: _naming(account_id, fields),
        lambda before, after: store.pool_line(before, after, pool_id.lower()),
    )
    return fleet.pool_or_default(pool_id)


def delete_pool(account_id: int, pool_id: str) -> None:
    """Delete a pool; its IPs move to the default pool. Raises 400, 404, and 409 if it is in use."""

    def edit(fleet: Fleet) -> Fleet:
        after = changes.without_pool(fleet, pool_id)
        references.check_unused(references.IP_POOL, account_id, pool_id.lower())
        return after

    store.change(
        account_id,
        edit,
        line=lambda before, after: store.pool_line(before, after, pool_id.lower()),
    )


def update_ip(account_id: int, external_ip: str, change: IpChange) -> None:
    """Move a sending IP to another pool, or change its warm-up; raises 400 and 404."""
    tomorrow = tomorrow_ms(clock.now())
    store.change(
        account_id,
        lambda fleet: changes.with_changed_ip(fleet, external_ip, change, tomorrow),
        line=lambda before, after: store.ip_line(before, after, external_ip),
    )


def check_domains(account_id: int, fields: PoolFields) -> PoolFields:
    """Return the fields with their domains in the spelling in which they are stored.

    Raises 400 unless each is a sending domain of the account with a verified DKIM record.
    """
    names = {field: domain.domain for field, domain in _signing_domains(account_id, fields)}
    return replace(fields, **names)


def _naming(account_id: int, fields: PoolFields) -> list[Write]:
    """Return the writes that fail if a domain of the fields is deleted meanwhile; raises 400."""
    present = {domain.domain: domain for _, domain in _signing_domains(account_id, fields)}
    return [domains.touching(each) for each in present.values()]


def _signing_domains(account_id: int, fields: PoolFields) -> Iterator[tuple[str, SendingDomain]]:
    for field in ("signing_domain", "fbl_signing_domain"):
        if name := getattr(fields, field):
            domain = domains.find(Scope(account_id, None), name)
            if domain is None or domain.signing_key is None:
                raise bad_request(f"{field} must be a sending domain with a verified DKIM record")
            yield field, domain
