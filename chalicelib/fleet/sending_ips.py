"""Give accounts sending IPs and take them away, for the operator.

An IP belongs to one account at a time. Accounts move their IPs between pools themselves.
"""

from __future__ import annotations

import re
from dataclasses import replace
from ipaddress import ip_address
from typing import Final

from chalicelib.core import clock
from chalicelib.core.domain_names import BadName, canonical
from chalicelib.fleet import store
from chalicelib.fleet.model import Fleet, SendingIp
from chalicelib.fleet.warmup import tomorrow_ms

MOST_IPS: Final = 250

_SMARTHOST = re.compile(r"(?:[\w.-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\]):[0-9]{1,5}", re.ASCII)
_SES_POOL = re.compile(r"[\w-]{1,64}", re.ASCII)
# Two of its queues have the name of the first one with "-small" and "-held"
_CONTAINER = re.compile(r"(?!.*-(small|held)$)[a-z0-9-]{1,30}", re.ASCII)


class Unsuitable(ValueError):
    """The IP cannot be added as it is described; the text gives the reason."""


def add(account_id: int, ip: SendingIp) -> SendingIp:
    """Give an account a sending IP; return it as stored. Its warm-up, if any, begins now.

    Raises :class:`Unsuitable`, and :class:`store.IpTaken` if an account has it already.
    """

    def edit(fleet: Fleet) -> Fleet:
        nonlocal ip
        ip = _checked_for(fleet, account_id, ip)
        return fleet.with_ip(ip)

    store.change(
        account_id,
        edit,
        line=lambda before, after: store.ip_line(before, after, ip.external_ip),
    )
    return ip


def remove(account_id: int, external_ip: str) -> bool:
    """Take a sending IP from an account; return ``False`` if it has none of that address."""
    address = _address(external_ip)
    exists = False

    def edit(fleet: Fleet) -> Fleet:
        nonlocal exists
        exists = fleet.ip(address) is not None
        return replace(fleet, ips=tuple(ip for ip in fleet.ips if ip.external_ip != address))

    store.change(account_id, edit, line=lambda before, after: store.ip_line(before, after, address))
    return exists


def of_account(account_id: int) -> tuple[SendingIp, ...]:
    """Return an account's sending IPs, by address."""
    return store.get(account_id).ips


def checked(account_id: int, ip: SendingIp) -> SendingIp:
    """Return a sending IP as :func:`add` would store it; raises the same."""
    return _checked_for(store.get(account_id), account_id, ip)


def _checked_for(fleet: Fleet, account_id: int, ip: SendingIp) -> SendingIp:
    ip = _with_names(ip)
    pool = fleet.pool(ip.ip_pool)
    if pool is None:
        raise Unsuitable(f"account {account_id} has no pool {ip.ip_pool}")
    if fleet.ip(ip.external_ip):
        raise store.IpTaken(f"account {account_id} has {ip.external_ip} already")
    if len(fleet.ips) >= MOST_IPS:
        raise Unsuitable(f"an account can have at most {MOST_IPS} sending IPs")
    return replace(ip, ip_pool=pool.id)


def _with_names(ip: SendingIp) -> SendingIp:
    """Return a sending IP with its names as they are stored; raises :class:`Unsuitable`."""
    try:
        hostname = canonical(ip.hostname)
    except BadName as fault:
        raise Unsuitable(f"{ip.hostname!r} is not a host name: {fault}") from None
    if ip.smarthost and ip.ses_pool:
        raise Unsuitable("an IP is reached by a smarthost or by SES, not by both")
    if ip.smarthost and not _SMARTHOST.fullmatch(ip.smarthost):
        raise Unsuitable(f"{ip.smarthost!r} is not host:port")
    if ip.ses_pool and not _SES_POOL.fullmatch(ip.ses_pool):
        raise Unsuitable(f"{ip.ses_pool!r} is not a configuration set")
    if ip.container and not _CONTAINER.fullmatch(ip.container):
        raise Unsuitable(f"{ip.container!r} is not a container's name: a-z, 0-9 and -, at most 30")
    return replace(
        ip,
        external_ip=_address(ip.external_ip),
        hostname=hostname,
        source_address=_address(ip.source_address) if ip.source_address else "",
        advance_ms=tomorrow_ms(clock.now()) if ip.auto_warmup_enabled else 0,
    )


def _address(text: str) -> str:
    try:
        return str(ip_address(text))
    except ValueError:
        raise Unsuitable(f"{text!r} is not an IP address") from None
