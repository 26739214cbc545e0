"""Look up in the DNS whether domains take mail, side by side, and keep the answers for a while.

No mail host is ever connected to.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from chalicelib.core import caches, clock, dns
from chalicelib.core.dns import LookupFailed
from chalicelib.recipient_validation.model import MailRoute

CACHE_SECONDS: Final = 3600.0
FAILURE_CACHE_SECONDS: Final = 300.0
THREADS: Final = 32  # they wait for the DNS, mostly
_MOST_ENTRIES: Final = 50_000
_NULL: Final = "."  # the host of a null MX (RFC 7505)

_cache: dict[str, tuple[float, MailRoute]] = {}
_lock = threading.Lock()


def route_of(domain: str) -> MailRoute:
    """Return how mail comes to one domain; it may take as long as the settings allow the DNS.

    Only answers count as cached: somebody who asks about one address can ask again.
    """
    route = _cached([domain]).get(domain, MailRoute.UNKNOWN)
    if route is MailRoute.UNKNOWN:
        route = _look_up(domain, math.inf)
        _remember({domain: route})
    return route


def routes_of(domains: Iterable[str], *, within: float) -> dict[str, MailRoute]:
    """Return how mail comes to each domain; a lookup gets ``within`` seconds.

    That the DNS gave no answer is cached as well, for a shorter time.
    """
    unique = list(dict.fromkeys(domains))
    routes = _cached(unique)
    unknown = [domain for domain in unique if domain not in routes]
    if not unknown:
        return routes
    with ThreadPoolExecutor(min(THREADS, len(unknown))) as pool:
        answers = pool.map(lambda domain: _look_up(domain, within), unknown)
        new = dict(zip(unknown, answers, strict=True))
    _remember(new)
    return routes | new


@caches.register
def clear_cache() -> None:
    """Forget all answers."""
    with _lock:
        _cache.clear()


def _look_up(domain: str, within: float) -> MailRoute:
    try:
        hosts = dns.mail_hosts(domain, within=within)
        if hosts:
            return MailRoute.REFUSED if set(hosts) == {_NULL} else MailRoute.HOSTS
        is_host = bool(dns.addresses(domain, within=within))
    except LookupFailed:
        return MailRoute.UNKNOWN
    return MailRoute.ADDRESS if is_host else MailRoute.NONE


def _cached(domains: Iterable[str]) -> dict[str, MailRoute]:
    now = clock.now()
    with _lock:
        entries = {domain: _cache[domain] for domain in domains if domain in _cache}
    return {domain: route for domain, (until, route) in entries.items() if now < until}


def _remember(routes: dict[str, MailRoute]) -> None:
    now = clock.now()
    with _lock:
        if len(_cache) >= _MOST_ENTRIES:
            _cache.clear()
        for domain, route in routes.items():
            is_known = route is not MailRoute.UNKNOWN
            _cache[domain] = (now + (CACHE_SECONDS if is_known else FAILURE_CACHE_SECONDS), route)
