"""Apply changes to a fleet by the rules for pools and sending IPs (spec 2.8, 4.7).

Nothing is stored here. Overflow pools make no chains: a pool that has one cannot be one. Refusals
are 400 and 404 with a message only.
"""

from __future__ import annotations

import re
from collections.abc import Container
from dataclasses import replace
from typing import Final
from unicodedata import normalize

from chalicelib.core.errors import NotFound, bad_request
from chalicelib.fleet.model import DEFAULT, FIRST_STAGE, SHARED, Fleet, IpPool, SendingIp
from chalicelib.ip_pools.request import IpChange, PoolFields

MOST_POOLS: Final = 100
#: The most characters of a pool's id, so that it can be a subaccount's pool (spec 2.6)
LONGEST_ID: Final = 20

_OTHER_CHARACTERS = re.compile(r"[^a-z0-9]+")
_NAMELESS = "pool"


def with_new_pool(fleet: Fleet, pool_id: str, fields: PoolFields, *, enterprise: bool) -> Fleet:
    """Return the fleet with a pool added under an id of :func:`id_for`; raises 400."""
    if len(fleet.pools) >= MOST_POOLS:
        raise bad_request(f"an account can have at most {MOST_POOLS} IP pools")
    pool = _checked(fleet, fields.apply(IpPool(pool_id, "")), enterprise)
    return replace(fleet, pools=(*fleet.pools, pool))


def id_for(fleet: Fleet, name: str) -> str:
    """Return the id of a new pool with this name; it stays when the pool is renamed."""
    return new_id(name, {pool.id for pool in fleet.all_pools()})


def new_id(name: str, used_ids: Container[str]) -> str:
    """Return an id (lower-case letters, digits and underscores) made from a name.

    >>> new_id("Marketing, EU", {"marketing_eu"})
    'marketing_eu_2'
    """
    plain = normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    stem = _cut(_OTHER_CHARACTERS.sub("_", plain).strip("_"), LONGEST_ID) or _NAMELESS
    candidate, number = stem, 1
    while candidate in used_ids:
        number += 1
        suffix = f"_{number}"
        candidate = _cut(stem, LONGEST_ID - len(suffix)) + suffix
    return candidate


def with_changed_pool(fleet: Fleet, pool_id: str, fields: PoolFields, *, enterprise: bool) -> Fleet:
    """Return the fleet with some fields of a pool changed; raises 400 and 404."""
    before = _own_pool(fleet, pool_id, "updated")
    after = fields.apply(before)
    if fields.auto_warmup_overflow_pool:
        after = _checked(fleet, after, enterprise)
    return replace(
        fleet, pools=tuple(after if pool.id == after.id else pool for pool in fleet.pools)
    )


def without_pool(fleet: Fleet, pool_id: str) -> Fleet:
    """Return the fleet without a pool, its IPs in the default pool; raises 400 and 404.

    Pools that had it as their overflow pool now have the default pool.
    """
    deleted = _own_pool(fleet, pool_id, "deleted").id
    return replace(
        fleet,
        pools=tuple(
            replace(pool, auto_warmup_overflow_pool=DEFAULT)
            if pool.auto_warmup_overflow_pool == deleted
            else pool
            for pool in fleet.pools
            if pool.id != deleted
        ),
        ips=tuple(
            replace(ip, ip_pool=DEFAULT) if ip.ip_pool == deleted else ip for ip in fleet.ips
        ),
    )


def with_changed_ip(fleet: Fleet, external_ip: str, change: IpChange, tomorrow_ms: int) -> Fleet:
    """Return the fleet with an IP moved or its warm-up changed; raises 400 and 404.

    A warm-up begins at stage 1 unless the change has a stage, which may be at most the stage that
    the IP has reached. Its next stage begins at ``tomorrow_ms``.
    """
    before = fleet.ip(external_ip)
    if before is None:
        raise NotFound("Sending IP does not exist")
    after = replace(before, ip_pool=_known_pool(fleet, change.ip_pool or before.ip_pool))
    return fleet.with_ip(_with_warmup(after, change, tomorrow_ms))


def _own_pool(fleet: Fleet, pool_id: str, action: str) -> IpPool:
    pool = fleet.pool(pool_id)
    if pool is None:
        raise NotFound(f"IP Pool {pool_id[:300]} does not exist.")
    if pool.id == DEFAULT:
        raise bad_request(f"IP Pool {DEFAULT} is reserved and cannot be {action}.")
    return pool


def _checked(fleet: Fleet, pool: IpPool, enterprise: bool) -> IpPool:
    """Return the pool with its overflow pool by the stored id; raises 400 if it cannot be one."""
    overflow_id = pool.auto_warmup_overflow_pool
    if not overflow_id:
        return pool
    if overflow_id.lower() == SHARED:
        if enterprise:
            raise bad_request(f"the {SHARED} is not available to enterprise accounts")
        overflow = IpPool(SHARED, SHARED)
    else:
        overflow = fleet.pool(overflow_id) or _refuse(
            f"overflow pool {overflow_id[:300]} does not exist"
        )
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


def _with_warmup(ip: SendingIp, change: IpChange, tomorrow_ms: int) -> SendingIp:
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


def _cut(text: str, length: int) -> str:
    return text[:length].rstrip("_")
