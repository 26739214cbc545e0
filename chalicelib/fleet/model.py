"""Define pools, sending IPs, and the fleet: all pools and IPs of one account (spec 2.8).

Every account has the pool ``default`` without creating it. ``shared pool`` is not a pool of the
account: it is this deployment's own transport, and can only be named as an overflow pool.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from chalicelib.core.errors import bad_format

DEFAULT: Final = "default"
SHARED: Final = "shared pool"
FIRST_STAGE: Final = 1
LAST_STAGE: Final = 29


@dataclass(frozen=True, slots=True)
class IpPool:
    """One pool. A domain or overflow pool that it does not have is empty."""

    id: str
    name: str
    signing_domain: str = ""
    fbl_signing_domain: str = ""
    auto_warmup_overflow_pool: str = ""


DEFAULT_POOL: Final = IpPool(DEFAULT, "Default")


@dataclass(frozen=True, slots=True)
class SendingIp:
    """One IP that mail leaves from.

    Remote hosts see ``external_ip``; ``hostname`` is its name in the DNS and in EHLO. The service
    sends from the local address ``source_address`` (empty: the host chooses), or through a
    ``smarthost`` (``host:port``) or ``ses_pool`` (a configuration set of Amazon SES). ``container``
    names the delivery container whose host has the source address (empty: any).
    ``auto_warmup_stage`` is kept when the warm-up ends; the next stage begins at ``advance_ms``
    (0: never).
    """

    external_ip: str
    hostname: str
    ip_pool: str = DEFAULT
    customer_provided: bool = False
    source_address: str = ""
    smarthost: str = ""
    ses_pool: str = ""
    container: str = ""
    auto_warmup_enabled: bool = False
    auto_warmup_stage: int = FIRST_STAGE
    advance_ms: int = 0


@dataclass(frozen=True, slots=True)
class WarmupDay:
    """What a warming IP was allowed to send on a day (days since 1970, UTC) in a stage."""

    day: int
    stage: int
    count: int


@dataclass(frozen=True, slots=True)
class Fleet:
    """The pools that an account created and its sending IPs. The store counts ``revision``."""

    account_id: int
    pools: tuple[IpPool, ...] = ()
    ips: tuple[SendingIp, ...] = ()
    revision: int = 0

    def all_pools(self) -> Iterator[IpPool]:
        """Yield every pool, the default one first."""
        yield DEFAULT_POOL
        yield from self.pools

    def pool(self, pool_id: str) -> IpPool | None:
        """Return a pool; ids are compared without case."""
        pool_id = pool_id.lower()
        return next((pool for pool in self.all_pools() if pool.id == pool_id), None)

    def pool_or_default(self, pool_id: str) -> IpPool:
        """Return a pool, or the default one if the id is empty or names a deleted pool.

        The IPs of a deleted pool are in the default pool.
        """
        return self.pool(pool_id) or DEFAULT_POOL

    def ip(self, external_ip: str) -> SendingIp | None:
        """Return a sending IP."""
        return next((ip for ip in self.ips if ip.external_ip == external_ip), None)

    def ips_of(self, pool_id: str) -> list[SendingIp]:
        """Return the sending IPs of a pool; the id is in the case in which it is stored."""
        return [ip for ip in self.ips if ip.ip_pool == pool_id]

    def may_send_by(self, pool_id: str) -> bool:
        """Tell whether mail may leave by a pool; the id is in the case in which it is stored.

        The default pool needs no IP, nor does any pool of an account without IPs: their mail leaves
        by this deployment's own transport.
        """
        return pool_id == DEFAULT or not self.ips or bool(self.ips_of(pool_id))

    def with_ip(self, ip: SendingIp) -> Fleet:
        """Return the fleet with an IP added, or in place of the one with the same address."""
        others = [each for each in self.ips if each.external_ip != ip.external_ip]
        return replace(self, ips=tuple(sorted([*others, ip], key=lambda each: each.external_ip)))


def usable_pool(fleet: Fleet, assigned: str, requested: str | None) -> str:
    """Return the id of the pool that a transmission leaves by.

    ``assigned`` is the pool of its subaccount, empty for any; ``requested`` is
    ``options.ip_pool``, ``None`` if the request has none. Raises 422 with code 1300 for a pool
    that the account does not have, that the subaccount may not use, or that holds no IP while
    other pools do. An account without sending IPs may use pools to tell its mail apart.
    """
    name = (assigned or DEFAULT) if requested is None else requested
    if name.lower() == SHARED:
        raise bad_format(f"ip_pool: the {SHARED} is reserved")
    pool = fleet.pool(name)
    if pool is None:
        raise bad_format(f"ip_pool: pool '{name[:300]}' does not exist")
    if assigned and pool.id != assigned.lower():
        raise bad_format(f"ip_pool: the subaccount sends by pool '{assigned.lower()}' only")
    if not fleet.may_send_by(pool.id):
        raise bad_format(f"ip_pool: pool '{pool.id}' has no sending IP")
    return pool.id


def usable_pool_now(fleet: Fleet, assigned: str, requested: str | None) -> str:
    """Return the id of the pool that an accepted transmission leaves by now; raises as above.

    Its subaccount may have another pool since, or the pool no IP. The default pool takes the mail
    of a deleted pool, whose IPs it has, but not that of a subaccount which sends by one pool only.
    """
    is_deleted = requested is not None and fleet.pool(requested) is None
    return usable_pool(fleet, assigned, None if is_deleted else requested)


def shown_pool(fleet: Fleet, pool_id: str) -> dict[str, Any] | None:
    """Return the fields of a pool that the audit log tells about; ``None`` if there is none."""
    pool = fleet.pool(pool_id)
    if pool is None:
        return None
    return asdict(pool) | {"ips": [ip.external_ip for ip in fleet.ips_of(pool.id)]}


def shown_ip(fleet: Fleet, external_ip: str) -> dict[str, Any] | None:
    """Return the fields of a sending IP that the audit log tells about; ``None`` without one."""
    ip = fleet.ip(external_ip)
    if ip is None:
        return None
    return {name: value for name, value in asdict(ip).items() if name != "advance_ms"}
