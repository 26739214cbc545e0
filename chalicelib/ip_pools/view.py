"""Show pools and sending IPs as the API does (spec 2.8)."""

from __future__ import annotations

from collections.abc import Sequence

from chalicelib.core import clock
from chalicelib.core.json_types import Json
from chalicelib.fleet.model import LAST_STAGE, Fleet, IpPool, SendingIp, WarmupDay
from chalicelib.fleet.warmup import daily_volume

_DAY = 86_400


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


def warmup_view(ip: SendingIp, days: Sequence[WarmupDay], now: float) -> Json:
    """Return the warm-up of an IP: today's count and limit, and those of the latest ``days``."""
    view: Json = {"external_ip": ip.external_ip, "auto_warmup_enabled": ip.auto_warmup_enabled}
    if ip.auto_warmup_enabled:
        today = int(now // _DAY)
        sent_today = next((each.count for each in days if each.day == today), 0)
        view |= {
            "auto_warmup_stage": ip.auto_warmup_stage,
            "next_stage_time": clock.iso_offset(ip.advance_ms / 1000),
            "today": _day_view(WarmupDay(today, ip.auto_warmup_stage, sent_today)),
        }
    return view | {"last_stage": LAST_STAGE, "history": [_day_view(each) for each in days]}


def _day_view(day: WarmupDay) -> Json:
    # The last reservation of a day may go beyond the limit; what goes beyond it is not sent
    limit = daily_volume(day.stage)
    return {
        "date": clock.iso_offset(day.day * _DAY)[:10],
        "stage": day.stage,
        "sent": min(day.count, limit),
        "limit": limit,
    }


def _ip_in_pool_view(ip: SendingIp) -> Json:
    view: Json = {
        "external_ip": ip.external_ip,
        "hostname": ip.hostname,
        "auto_warmup_enabled": ip.auto_warmup_enabled,
    }
    return view | ({"auto_warmup_stage": ip.auto_warmup_stage} if ip.auto_warmup_enabled else {})
