"""Choose the pool that a transmission leaves by when it is accepted (spec 2.1 ``ip_pool``, 2.6)."""

from __future__ import annotations

from chalicelib.core.errors import bad_format
from chalicelib.fleet.model import DEFAULT, SHARED, Fleet


def usable_pool(fleet: Fleet, assigned: str, requested: str | None) -> str:
    """Return the id of the pool that a transmission leaves by.

    ``assigned`` is the pool of its subaccount, empty for any; ``requested`` is
    ``options.ip_pool``, ``None`` if the request has none. Raises 422 with code 1300 for a pool
    that the account does not have, that the subaccount may not use, or that holds no IP while
    other pools do. An account without sending IPs may use pools to tell its mail apart.
    """
    own = fleet.pool_or_default(assigned).id
    if requested is None:
        return own
    if requested.lower() == SHARED:
        raise bad_format(f"ip_pool: the {SHARED} is reserved")
    pool = fleet.pool(requested)
    if pool is None:
        raise bad_format(f"ip_pool: pool '{requested[:300]}' does not exist")
    if assigned and pool.id != own:
        raise bad_format(f"ip_pool: the subaccount sends by pool '{own}' only")
    if pool.id != DEFAULT and fleet.ips and not fleet.ips_of(pool.id):
        raise bad_format(f"ip_pool: pool '{pool.id}' has no sending IP")
    return pool.id
