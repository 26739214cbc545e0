"""Pools and sending IPs, and the fleet: all that one account has of both (spec 2.8).

The pool ``default`` is everyone's without being created. ``shared pool`` is no pool of the
account's but this deployment's own way out; it can only be named as an overflow pool.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

DEFAULT: Final = "default"
SHARED: Final = "shared pool"
FIRST_STAGE: Final = 1
LAST_STAGE: Final = 29


@dataclass(frozen=True, slots=True)
class IpPool:
    """One pool. Domains and the overflow pool are empty where there is none."""

    id: str
    name: str
    signing_domain: str = ""
    fbl_signing_domain: str = ""
    auto_warmup_overflow_pool: str = ""


DEFAULT_POOL: Final = IpPool(DEFAULT, "Default")


@dataclass(frozen=True, slots=True)
class SendingIp:
    """One IP that mail leaves from.

    ``external_ip`` is what remote hosts see, ``hostname`` its name in the DNS and in EHLO. How it
    is reached: ``source_address`` is the local address to send from (empty: the host's choice);
    ``smarthost`` (``host:port``) or ``ses_pool`` (a configuration set of Amazon SES) send in this
    host's place. ``auto_warmup_stage`` stays when the warm-up ends; ``advance_ms`` is when the next
    stage begins (0: never).
    """

    external_ip: str
    hostname: str
    ip_pool: str = DEFAULT
    customer_provided: bool = False
    source_address: str = ""
    smarthost: str = ""
    ses_pool: str = ""
    auto_warmup_enabled: bool = False
    auto_warmup_stage: int = FIRST_STAGE
    advance_ms: int = 0

    def in_pool_json(self) -> dict[str, Any]:
        """Return the IP as it is shown in its pool's ``ips``."""
        shown: dict[str, Any] = {
            "external_ip": self.external_ip,
            "hostname": self.hostname,
            "auto_warmup_enabled": self.auto_warmup_enabled,
        }
        if self.auto_warmup_enabled:
            shown["auto_warmup_stage"] = self.auto_warmup_stage
        return shown

    def as_json(self) -> dict[str, Any]:
        """Return the IP as ``/sending-ips`` shows it."""
        owner = {"ip_pool": self.ip_pool, "customer_provided": self.customer_provided}
        return self.in_pool_json() | owner


@dataclass(frozen=True, slots=True)
class Fleet:
    """The pools that an account created, and its sending IPs. ``revision`` is the store's."""

    account_id: int
    pools: tuple[IpPool, ...] = ()
    ips: tuple[SendingIp, ...] = ()
    revision: int = 0

    def all_pools(self) -> Iterator[IpPool]:
        """Yield every pool, the default one first."""
        yield DEFAULT_POOL
        yield from self.pools

    def pool(self, pool_id: str) -> IpPool | None:
        """Return a pool; ids are read in any case."""
        wanted = pool_id.lower()
        return next((pool for pool in self.all_pools() if pool.id == wanted), None)

    def in_force(self, pool_id: str) -> IpPool:
        """Return the pool that an id stands for: of one that is gone, the IPs are in the default.

        An empty id stands for the default pool.
        """
        return self.pool(pool_id) or DEFAULT_POOL

    def ip(self, external_ip: str) -> SendingIp | None:
        """Return a sending IP."""
        return next((ip for ip in self.ips if ip.external_ip == external_ip), None)

    def ips_of(self, pool_id: str) -> list[SendingIp]:
        """Return the sending IPs of a pool, by its id as it is kept."""
        return [ip for ip in self.ips if ip.ip_pool == pool_id]

    def pool_json(self, pool: IpPool) -> dict[str, Any]:
        """Return a pool as the API shows it: what it has not set is left out."""
        shown: dict[str, Any] = {"id": pool.id, "name": pool.name}
        for name in ("signing_domain", "fbl_signing_domain", "auto_warmup_overflow_pool"):
            if value := getattr(pool, name):
                shown[name] = value
        return shown | {"ips": [ip.in_pool_json() for ip in self.ips_of(pool.id)]}
