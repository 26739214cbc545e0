"""Choose the route of each message: the sending IP of its pool, and how the IP is reached.

The warming IPs of a pool come first, each up to the rest of its day's volume. The rest leaves by
the pool's other IPs, or by its overflow pool if all its IPs are warming. Without an overflow pool,
and for an account without sending IPs, mail leaves by this deployment's own transport from the
settings. The default pool takes the mail of a deleted pool, whose IPs it has, and what is left over
for an overflow pool without IPs. Other mail of a pool that has lost its IPs waits for one.

Messages of a work unit that do not warm an IP leave by one IP of the pool, chosen by ``key``. The
same key chooses the same IP again, so a host that greylisted a message sees its sender return.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256

from chalicelib.core.message_event import RouteFields
from chalicelib.fleet import store, warmup
from chalicelib.fleet.model import DEFAULT_POOL, SHARED, Fleet, IpPool, SendingIp


@dataclass(frozen=True, slots=True)
class Route:
    """One route; the transport of the settings decides what is empty or ``None``.

    ``pool_id`` is the pool that is used, which may differ from the requested one. ``smarthost`` is
    ``host:port``, ``ses_pool`` a configuration set of Amazon SES; at most one of them is set.
    ``container`` is the delivery container that can send by this route (empty: the one without a
    name, or a function). By a ``closed`` route nothing leaves: the pool has no sending IP.
    """

    pool_id: str
    sending_ip: str = ""
    source_address: str | None = None
    ehlo_name: str = ""
    smarthost: str = ""
    ses_pool: str = ""
    container: str = ""
    closed: bool = False

    def event_fields(self) -> RouteFields:
        """Return the fields of a message's events that describe its route (spec 2.11)."""
        fields: RouteFields = {"ip_pool": self.pool_id}
        if self.sending_ip:
            fields["sending_ip"] = self.sending_ip
        return fields


def choose(account_id: int, pool_id: str, now: float, count: int, *, key: str = "") -> list[Route]:
    """Return the routes of ``count`` messages of one unit, one for each.

    Takes no request if the account's fleet is cached and no IP of the pool is warming, else one
    for each warming IP (all but the last of which have then used up their day's volume).
    """
    fleet = store.get_cached(account_id)
    pool = fleet.pool_or_default(pool_id)
    if not fleet.may_send_by(pool.id):
        return [Route(pool.id, closed=True)] * count
    return list(_routes(fleet, pool, now, count, key))


def by_ip(account_id: int, pool_id: str, external_ip: str) -> Route | None:
    """Return the route by a sending IP that was chosen before; ``None`` to choose again.

    The account may have lost the IP, or have moved it to a pool that does not take this mail.
    """
    fleet = store.get_cached(account_id)
    pool, ip = fleet.pool_or_default(pool_id), fleet.ip(external_ip)
    if ip is None or ip.ip_pool not in (pool.id, _overflow(fleet, pool).id):
        return None
    return _by(ip)


def first_container(account_id: int, pool_id: str, *, key: str) -> str:
    """Return the delivery container to queue a unit for: that of the IP it most likely leaves by.

    Nothing is counted. The container chooses the routes, and hands on what leaves elsewhere.
    """
    fleet = store.get_cached(account_id)
    ips = _in_order(fleet, fleet.pool_or_default(pool_id), key)
    warming_first = sorted(ips, key=lambda ip: not ip.auto_warmup_enabled)
    return warming_first[0].container if ips else ""


def _routes(fleet: Fleet, pool: IpPool, now: float, count: int, key: str) -> Iterator[Route]:
    ips = _in_order(fleet, pool, key)
    for ip in ips:
        if ip.auto_warmup_enabled and count:
            allowance = warmup.reserve(fleet.account_id, ip, now, count)
            yield from [_by(ip)] * allowance
            count -= allowance
    if not count:
        return
    warm_ip = next((ip for ip in ips if not ip.auto_warmup_enabled), None)
    if warm_ip:
        yield from [_by(warm_ip)] * count
    elif pool.auto_warmup_overflow_pool in ("", SHARED):
        yield from [Route(SHARED if ips else pool.id)] * count
    else:
        yield from _routes(fleet, _overflow(fleet, pool), now, count, key)


def _in_order(fleet: Fleet, pool: IpPool, key: str) -> list[SendingIp]:
    return sorted(fleet.ips_of(pool.id), key=lambda ip: _rank(ip, key), reverse=True)


def _overflow(fleet: Fleet, pool: IpPool) -> IpPool:
    """Return the overflow pool of a pool, or the pool if it has none.

    The default pool takes the place of one without IPs.
    """
    if pool.auto_warmup_overflow_pool in ("", SHARED):
        return pool
    overflow = fleet.pool_or_default(pool.auto_warmup_overflow_pool)
    return overflow if fleet.ips_of(overflow.id) else DEFAULT_POOL


def _by(ip: SendingIp) -> Route:
    return Route(
        ip.ip_pool,
        ip.external_ip,
        ip.source_address or None,
        ip.hostname,
        ip.smarthost,
        ip.ses_pool,
        ip.container,
    )


def _rank(ip: SendingIp, key: str) -> bytes:
    """Rank an IP for ``key``; adding an IP moves few keys (rendezvous hashing)."""
    return sha256(f"{key}\0{ip.external_ip}".encode()).digest()
