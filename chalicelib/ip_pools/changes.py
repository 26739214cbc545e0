"""What may be changed of a fleet, and what follows from it (spec 2.8, 4.7). Nothing here stores.

Overflow pools make no chains: a pool that has one cannot be one. Refusals are 400 and 404 with a
message alone.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from chalicelib.core.errors import NotFound, bad_request
from chalicelib.ip_pools import pool_ids
from chalicelib.ip_pools.model import DEFAULT, FIRST_STAGE, SHARED, Fleet, IpPool, SendingIp
from chalicelib.ip_pools.request import IpChange, PoolFields

MOST_POOLS: Final = 100


def with_new_pool(fleet: Fleet, pool_id: str, fields: PoolFields, *, enterprise: bool) -> Fleet:
    """Return the fleet with a pool added under an id that :func:`id_for` gave."""
    if len(fleet.pools) >= MOST_POOLS:
        raise bad_request(f"an account can have at most {MOST_POOLS} IP pools")
    pool = _checked(fleet, fields.apply(IpPool(pool_id, "")), enterprise)
    return replace(fleet, pools=(*fleet.pools, pool))


def id_for(fleet: Fleet, name: str) -> str:
    """Return the id that a new pool of this name gets."""
    return pool_ids.new_id(name, {pool.id for pool in fleet.all_pools()})


def with_changed_pool(fleet: Fleet, pool_id: str, fields: PoolFields, *, enterprise: bool) -> Fleet:
    """Return the fleet with the fields that were given changed; raises 400 and 404."""
    before = _own_pool(fleet, pool_id, "updated")
    after = fields.apply(before)
    if fields.auto_warmup_overflow_pool:
        after = _checked(fleet, after, enterprise)
    return replace(
        fleet, pools=tuple(after if pool.id == after.id else pool for pool in fleet.pools)
    )


def without_pool(fleet: Fleet, pool_id: str) -> Fleet:
    """Return the fleet without a pool, its IPs in the default pool; raises 400 and 404.

    Where it took the overflow, the default pool does so now, as its IPs are there.
    """
    gone = _own_pool(fleet, pool_id, "deleted").id
    return replace(
        fleet,
        pools=tuple(
            replace(pool, auto_warmup_overflow_pool=DEFAULT)
            if pool.auto_warmup_overflow_pool == gone
            else pool
            for pool in fleet.pools
            if pool.id != gone
        ),
        ips=tuple(replace(ip, ip_pool=DEFAULT) if ip.ip_pool == gone else ip for ip in fleet.ips),
    )


def with_changed_ip(fleet: Fleet, external_ip: str, change: IpChange, tomorrow_ms: int) -> Fleet:
    """Return the fleet with an IP moved or its warm-up changed; raises 400 and 404.

    A warm-up that begins does so at stage 1 unless a stage is named, which may be the one that
    the IP has reached, or a lower one. Its next stage begins at ``tomorrow_ms``.
    """
    before = fleet.ip(external_ip)
    if before is None:
        raise NotFound("Sending IP does not exist")
    after = replace(before, ip_pool=_known_pool(fleet, change.ip_pool or before.ip_pool))
    return with_ip(fleet, _warmed(after, change, tomorrow_ms))


def with_ip(fleet: Fleet, ip: SendingIp) -> Fleet:
    """Return the fleet with an IP in place of the one of that address, or added."""
    others = [each for each in fleet.ips if each.external_ip != ip.external_ip]
    return replace(fleet, ips=tuple(sorted([*others, ip], key=lambda each: each.external_ip)))


def _own_pool(fleet: Fleet, pool_id: str, what: str) -> IpPool:
    pool = fleet.pool(pool_id)
    if pool is None:
        raise NotFound(f"IP Pool {pool_id[:300]} does not exist.")
    if pool.id == DEFAULT:
        raise bad_request(f"IP Pool {DEFAULT} is reserved and cannot be {what}.")
    return pool


def _checked(fleet: Fleet, pool: IpPool, enterprise: bool) -> IpPool:
    """Return the pool if its overflow pool can be one, and under the id that it is kept by."""
    named = pool.auto_warmup_overflow_pool
    if not named:
        return pool
    if named.lower() == SHARED:
        if enterprise:
            raise bad_request(f"the {SHARED} is not available to enterprise accounts")
        overflow = IpPool(SHARED, SHARED)
    else:
        overflow = fleet.pool(named) or _refuse(f"overflow pool {named[:300]} does not exist")
    if overflow.id == pool.id:
        raise bad_request(f"{pool.id} cannot be its own overflow pool")
    if overflow.auto_warmup_overflow_pool:
        raise bad_request(f"{overflow.id} has an overflow pool and cannot be one")
    if any(each.auto_warmup_overflow_pool == pool.id for each in fleet.pools):
        raise bad_request(f"{pool.id} is an overflow pool and cannot have one")
    return replace(pool, auto_warmup_overflow_pool=overflow.id)


def _known_pool(fleet: Fleet, pool_id: str) -> str:
    pool = fleet.pool(pool_id) or _refuse(f"IP Pool {pool_id[:300]} does not exist.")
    return pool.id


def _warmed(ip: SendingIp, change: IpChange, tomorrow_ms: int) -> SendingIp:
    enabled = ip.auto_warmup_enabled
    if change.auto_warmup_enabled is not None:
        enabled = change.auto_warmup_enabled
    begins = enabled and not ip.auto_warmup_enabled
    stage = FIRST_STAGE if begins else ip.auto_warmup_stage
    if change.auto_warmup_stage is not None:
        if not enabled:
            raise bad_request("auto_warmup_stage needs auto_warmup_enabled to be true")
        if change.auto_warmup_stage > ip.auto_warmup_stage:
            raise bad_request(f"auto_warmup_stage must be at most {ip.auto_warmup_stage}")
        stage = change.auto_warmup_stage
    advance = tomorrow_ms if begins else ip.advance_ms if enabled else 0
    return replace(ip, auto_warmup_enabled=enabled, auto_warmup_stage=stage, advance_ms=advance)


def _refuse(message: str) -> IpPool:
    raise bad_request(message)
