"""Show pools and sending IPs as the API does (spec 2.8)."""

from __future__ import annotations

from typing import Any

from chalicelib.fleet.model import Fleet, IpPool, SendingIp

Json = dict[str, Any]


def pool_view(fleet: Fleet, pool: IpPool) -> Json:
    """Return a pool with its IPs; fields that are not set are left out."""
    view: Json = {"id": pool.id, "name": pool.name}
    for name in ("signing_domain", "fbl_signing_domain", "auto_warmup_overflow_pool"):
        if value := getattr(pool, name):
            view[name] = value
    return view | {"ips": [_ip_in_pool_view(ip) for ip in fleet.ips_of(pool.id)]}


def changed_pool_view(pool: IpPool) -> Json:
    """Return the pool as the reply to its change shows it."""
    return {
        "id": pool.id,
        "name": pool.name,
        "fbl_signing_domain": pool.fbl_signing_domain,
        "auto_warmup_overflow_pool": pool.auto_warmup_overflow_pool,
    }


def ip_view(ip: SendingIp) -> Json:
    """Return a sending IP as ``/sending-ips`` shows it."""
    owner = {"ip_pool": ip.ip_pool, "customer_provided": ip.customer_provided}
    return _ip_in_pool_view(ip) | owner


def _ip_in_pool_view(ip: SendingIp) -> Json:
    view: Json = {
        "external_ip": ip.external_ip,
        "hostname": ip.hostname,
        "auto_warmup_enabled": ip.auto_warmup_enabled,
    }
    return view | ({"auto_warmup_stage": ip.auto_warmup_stage} if ip.auto_warmup_enabled else {})
