"""Make sending IPs and fleets for tests."""

from __future__ import annotations

from typing import Any

from chalicelib.fleet import sending_ips, store
from chalicelib.fleet.model import Fleet, IpPool, SendingIp
from chalicelib.ip_pools import changes
from chalicelib.ip_pools.request import PoolFields

DAY = 86_400
NOON = 20_000 * DAY + DAY / 2


def an_ip(last: int, pool: str = "default", **fields: Any) -> SendingIp:
    """Return the sending IP ``192.0.2.<last>``."""
    return SendingIp(f"192.0.2.{last}", f"mta{last}.example.test", pool, **fields)


def warming(last: int, pool: str = "default", stage: int = 1, **fields: Any) -> SendingIp:
    """Return a sending IP that is being warmed up."""
    return an_ip(last, pool, auto_warmup_enabled=True, auto_warmup_stage=stage, **fields)


def fleet_of(*ips: SendingIp, **overflows: str) -> Fleet:
    """Return a fleet with a pool for each keyword: its id, and its overflow pool."""
    pools = (
        IpPool(pool_id, pool_id.title(), auto_warmup_overflow_pool=overflow)
        for pool_id, overflow in overflows.items()
    )
    return Fleet(1, tuple(pools), ips)


def add(*ips: SendingIp, account: int = 1) -> None:
    """Give an account sending IPs."""
    for ip in ips:
        sending_ips.add(account, ip)


def make_pool(name: str, account: int = 1, **fields: str) -> str:
    """Store an IP pool; return its id."""

    def edit(fleet: Fleet) -> Fleet:
        pool_id = changes.id_for(fleet, name)
        pool_fields = PoolFields(name, **fields)
        return changes.with_new_pool(fleet, pool_id, pool_fields, enterprise=False)

    return store.change(account, edit).pools[-1].id
