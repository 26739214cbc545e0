"""By which way messages leave: the sending IP of their pool, and how it is reached.

The warming IPs of a pool come first, each with what is left of its day's volume; the rest goes by
the pool's other IPs, and where it has none by its overflow pool. Without one, and for an account
without sending IPs, mail leaves by this deployment's own way, the transport of the settings. The
IPs of a pool that is gone or was emptied are taken to be the default pool's.

All messages of a unit that do not warm an IP leave by one IP of the pool, chosen by ``key``: the
same key finds the same IP again, so that a host which greylisted a message sees its sender return.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256

from chalicelib.ip_pools import store, warmup
from chalicelib.ip_pools.model import DEFAULT_POOL, SHARED, Fleet, IpPool, SendingIp


@dataclass(frozen=True, slots=True)
class Route:
    """One way out; what is empty or ``None`` is left to the transport of the settings.

    ``pool_id`` is the pool in force, which may be another than the one asked for. ``smarthost`` is
    ``host:port``, ``ses_pool`` a configuration set of Amazon SES; at most one of them is given.
    """

    pool_id: str
    sending_ip: str = ""
    source_address: str | None = None
    ehlo_name: str = ""
    smarthost: str = ""
    ses_pool: str = ""

    def event_fields(self) -> dict[str, str]:
        """Return what the events of a message that left this way tell of it (spec 2.11)."""
        told = {"ip_pool": self.pool_id}
        return told | {"sending_ip": self.sending_ip} if self.sending_ip else told


def choose(account_id: int, pool_id: str, now: float, count: int, *, key: str = "") -> list[Route]:
    """Return the ways of ``count`` messages of one unit, one for each.

    Takes no request while the account's fleet is remembered and no IP of the pool is warming, one
    for each warming IP otherwise (of which all but the last are then spent for the day).
    """
    fleet = store.acting(account_id)
    pool = _with_ips(fleet, fleet.in_force(pool_id))
    return list(_routes(fleet, pool, now, count, key))


def _routes(fleet: Fleet, pool: IpPool, now: float, count: int, key: str) -> Iterator[Route]:
    ips = sorted(fleet.ips_of(pool.id), key=lambda ip: _rank(ip, key), reverse=True)
    for ip in ips:
        if ip.auto_warmup_enabled and count:
            granted = warmup.reserve(ip, now, count)
            yield from [_by(ip)] * granted
            count -= granted
    if not count:
        return
    warm = next((ip for ip in ips if not ip.auto_warmup_enabled), None)
    if warm:
        yield from [_by(warm)] * count
    elif pool.auto_warmup_overflow_pool in ("", SHARED):
        yield from [Route(SHARED if ips else pool.id)] * count
    else:
        overflow = _with_ips(fleet, fleet.in_force(pool.auto_warmup_overflow_pool))
        yield from _routes(fleet, overflow, now, count, key)


def _with_ips(fleet: Fleet, pool: IpPool) -> IpPool:
    """Return the pool, or the default one if it is empty while the account has sending IPs."""
    return pool if fleet.ips_of(pool.id) or not fleet.ips else DEFAULT_POOL


def _by(ip: SendingIp) -> Route:
    return Route(
        ip.ip_pool,
        ip.external_ip,
        ip.source_address or None,
        ip.hostname,
        ip.smarthost,
        ip.ses_pool,
    )


def _rank(ip: SendingIp, key: str) -> bytes:
    """Return where an IP stands for ``key``; adding one moves few keys (rendezvous hashing)."""
    return sha256(f"{key}\0{ip.external_ip}".encode()).digest()
