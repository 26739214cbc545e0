"""Find the group of a domain: all domains whose mail ends at one provider, by their MX records.

The group of a provider that ``providers.json`` lists has its name there. Any other group is named
after the domain that its mail hosts are in, such as ``example.net`` for ``mx1.example.net``. A
domain whose hosts are not all of one group, or not known, is a group of its own. Otherwise anybody
could name a provider's host beside one of his own, and let that one slow down all mail to the
provider.
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache

from chalicelib.core import caches, clock, dns, domain_names
from chalicelib.core.dns import LookupFailed
from chalicelib.delivery.shaping.providers import providers
from chalicelib.delivery.transports import join_hosts

_CACHE_SECONDS = 3_600.0
_FAILURE_CACHE_SECONDS = 300.0
_CACHE_ENTRIES = 50_000
_THREADS = 16


@dataclass(frozen=True, slots=True)
class Group:
    """The group of a domain. Domains with the same ``hosts`` can share connections.

    Without ``hosts``, which are not known, only mail to the same domain can.
    """

    name: str
    hosts: str


_cache: dict[str, tuple[float, Group]] = {}


def groups_of(domains: Iterable[str]) -> dict[str, Group]:
    """Return the group of each domain; those that are not cached are looked up at the same time."""
    now = clock.now()
    groups: dict[str, Group] = {}
    missing: set[str] = set()
    for domain in domains:
        entry = _cache.get(domain)
        if entry and now < entry[0]:
            groups[domain] = entry[1]
        else:
            missing.add(domain)
    if len(missing) == 1:
        groups |= {domain: _look_up(domain) for domain in missing}
    elif missing:
        groups |= zip(missing, _threads().map(_look_up, missing), strict=True)
    return groups


def group_of_hosts(hosts: Iterable[str]) -> str | None:
    """Return the group of a domain with these mail hosts, ``None`` if they are not of one group."""
    groups = set(map(_group_of_host, hosts))
    return (groups.pop() or None) if len(groups) == 1 else None


def _group_of_host(host: str) -> str:
    labels = host.split(".")
    by_host = providers().groups_by_host
    for start in range(len(labels)):
        if group := by_host.get(".".join(labels[start:])):
            return group
    return next(reversed(domain_names.parents(host)), host)


def _look_up(domain: str) -> Group:
    group, lifetime = Group(domain, ""), _FAILURE_CACHE_SECONDS
    name = domain_names.in_a_labels(domain)
    try:
        if name:
            hosts = dns.mail_hosts(name)
            group = Group(group_of_hosts(hosts) or domain, join_hosts(hosts) or name)
            lifetime = _CACHE_SECONDS
    except LookupFailed:
        pass  # the attempt looks it up again, and says what is wrong
    if len(_cache) >= _CACHE_ENTRIES:
        _cache.clear()
    _cache[domain] = (clock.now() + lifetime, group)
    return group


@caches.register
def clear_cache() -> None:
    """Forget all groups."""
    _cache.clear()


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_THREADS, thread_name_prefix="groups")
