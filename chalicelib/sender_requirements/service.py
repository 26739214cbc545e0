"""Check a sending domain, or the addresses of an IP pool, by the rules of large mail hosts.

All checks run at the same time. Those that the DNS has not answered after ``DNS_LIFETIME`` twice
over are undecided.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Final

from chalicelib.core import dns
from chalicelib.core.errors import NotFound
from chalicelib.core.scope import Scope
from chalicelib.core.settings import settings
from chalicelib.fleet import store as fleets
from chalicelib.fleet.model import SendingIp
from chalicelib.ip_pools.service import visible_fleet
from chalicelib.sender_requirements import domain_checks
from chalicelib.sender_requirements.address_checks import SendingAddress, check_address
from chalicelib.sender_requirements.model import Requirement, Rule, undecided
from chalicelib.sender_requirements.rules import (
    ADDRESS_RULES,
    ALIGNMENT,
    DKIM,
    DKIM_KEY_LENGTH,
    DMARC,
    REPLIES,
    SPF,
    TLS,
    UNSUBSCRIBE,
)
from chalicelib.sender_requirements.service_checks import check_tls, check_unsubscribe
from chalicelib.sender_requirements.spf_check import ReturnPath, check_spf
from chalicelib.sending_domains.lookup import bounce_domain_for, get_owned, mail_domain
from chalicelib.sending_domains.spf import sender_addresses

_MX: Final = "mx"
_MOST_THREADS: Final = 16


@dataclass(frozen=True, slots=True)
class Check:
    """A check, and the rules whose requirements it returns, in their order."""

    rules: Sequence[Rule]
    run: Callable[[], Sequence[Requirement]]


@dataclass(frozen=True, slots=True)
class DomainRequirements:
    """The requirements of a sending domain, and the domain of its envelope senders."""

    domain: str
    return_path: str
    requirements: Sequence[Requirement]


@dataclass(frozen=True, slots=True)
class AddressRequirements:
    """The requirements of an address that mail leaves from."""

    sender: SendingAddress
    requirements: Sequence[Requirement]


def of_domain(scope: Scope, name: str) -> DomainRequirements:
    """Check a sending domain of the scope; raises 404 with code 1600."""
    domain = get_owned(scope, name)
    return_path = bounce_domain_for(domain.account_id, domain.subaccount_id, sending=domain)
    target = mail_domain(domain.account_id)
    results = _run(
        [
            Check((SPF,), _spf_check(domain.account_id, return_path, target)),
            Check((DKIM,), lambda: [domain_checks.check_dkim(domain)]),
            Check((DKIM_KEY_LENGTH,), lambda: [domain_checks.check_key_length(domain)]),
            Check(
                (DMARC, ALIGNMENT), lambda: domain_checks.check_policy(domain, return_path, target)
            ),
            Check((REPLIES,), lambda: [domain_checks.check_replies(domain.domain)]),
            Check((TLS,), lambda: [check_tls()]),
            Check((UNSUBSCRIBE,), lambda: [check_unsubscribe()]),
        ]
    )
    return DomainRequirements(domain.domain, return_path, list(chain.from_iterable(results)))


def _spf_check(account_id: int, return_path: str, target: str) -> Callable[[], list[Requirement]]:
    has_ips = bool(fleets.get_cached(account_id).ips)

    def check() -> list[Requirement]:
        try:
            addresses = sender_addresses(account_id)
        except dns.LookupFailed as error:
            return [undecided(SPF, str(error))]
        is_complete = has_ips or settings().transport == _MX
        return [check_spf(ReturnPath(return_path, target, addresses, is_complete))]

    return check


def of_pool(scope: Scope, pool_id: str) -> list[AddressRequirements]:
    """Check the addresses of a pool that the scope may see; raises 404.

    An account without sending IPs sends from the service's own addresses. They are known when the
    service delivers directly; else the list is empty.
    """
    fleet, is_visible = visible_fleet(scope)
    pool = fleet.pool(pool_id)
    if pool is None or not is_visible(pool.id):
        raise NotFound("IP pool not found.")
    senders = [_of_ip(ip) for ip in fleet.ips_of(pool.id)] if fleet.ips else _own_addresses()
    results = _run([Check(ADDRESS_RULES, partial(check_address, each)) for each in senders])
    return list(map(AddressRequirements, senders, results))


def _of_ip(ip: SendingIp) -> SendingAddress:
    greets = settings().transport == _MX and not (ip.smarthost or ip.ses_pool)
    return SendingAddress(ip.external_ip, ip.hostname, greets)


def _own_addresses() -> list[SendingAddress]:
    if settings().transport != _MX:
        return []
    try:
        addresses = dns.addresses(settings().system_domain, within=settings().dns_lifetime)
    except dns.LookupFailed:
        return []
    return [SendingAddress(each, settings().mail_hostname) for each in addresses]


def _run(checks: Sequence[Check]) -> list[Sequence[Requirement]]:
    """Return the results of checks in their order; those that do not end in time are undecided."""
    if not checks:
        return []
    threads = ThreadPoolExecutor(min(len(checks), _MOST_THREADS), thread_name_prefix="rules")
    futures = [threads.submit(check.run) for check in checks]
    done, _ = wait(futures, timeout=2 * settings().dns_lifetime)
    threads.shutdown(wait=False, cancel_futures=True)
    return [
        future.result()
        if future in done
        else [undecided(rule, "the DNS did not answer in time") for rule in check.rules]
        for check, future in zip(checks, futures, strict=True)
    ]
