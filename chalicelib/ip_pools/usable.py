"""Which pool a transmission goes by, judged when it is accepted (spec 2.1 ``ip_pool``, 2.6)."""

from __future__ import annotations

from chalicelib.core.errors import bad_format
from chalicelib.ip_pools.model import DEFAULT, SHARED, Fleet


def usable_pool(fleet: Fleet, assigned: str, named: str | None) -> str:
    """Return the id of the pool that a sender's transmission goes by.

    ``assigned`` is the pool of its subaccount, empty for any; ``named`` is ``options.ip_pool``,
    ``None`` where there is none. Raises 422 with code 1300 for a pool that the account has not,
    that the subaccount may not use, or that holds no IP while others do. An account without any
    sending IP may use its pools to tell its mail apart.
    """
    own = fleet.in_force(assigned).id
    if named is None:
        return own
    if named.lower() == SHARED:
        raise bad_format(f"ip_pool: the {SHARED} is reserved")
    pool = fleet.pool(named)
    if pool is None:
        raise bad_format(f"ip_pool: pool '{named[:300]}' does not exist")
    if assigned and pool.id != own:
        raise bad_format(f"ip_pool: the subaccount sends by pool '{own}' only")
    if pool.id != DEFAULT and fleet.ips and not fleet.ips_of(pool.id):
        raise bad_format(f"ip_pool: pool '{pool.id}' has no sending IP")
    return pool.id
