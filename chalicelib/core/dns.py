"""Look up DNS records with the resolvers of ``DNS_SERVERS``, without a cache.

A name that does not exist and a name without records of the type both give an empty result. When
the DNS could not answer (a time-out, SERVFAIL), :class:`LookupFailed` is raised. Names are returned
in lower case and without their final dot.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

from chalicelib.core.host_and_port import read_host_and_port
from chalicelib.core.settings import settings

if TYPE_CHECKING:
    import dns.name
    import dns.resolver

_PORT = 53
_LONGEST_CHAIN = 8

TextLookup = Callable[[str], list[str]]
"""Returns the TXT records of a name; raises :class:`LookupFailed`."""


class LookupFailed(Exception):
    """The DNS gave no answer about ``name``; it may give one later."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"the DNS gave no answer for {name} ({reason})")


def texts(name: str) -> list[str]:
    """Return the TXT records of ``name``, each with its strings joined."""
    records = lookup(name, "TXT")
    return [b"".join(record.strings).decode("utf-8", "replace") for record in records]


def aliases(name: str) -> Iterator[str]:
    """Yield the names that ``name`` leads to by CNAME records; each is looked up when needed."""
    seen: set[str] = set()
    while len(seen) < _LONGEST_CHAIN:
        targets = [_plain(record.target) for record in lookup(name, "CNAME")]
        if not targets or targets[0] in seen:
            return
        name = targets[0]
        seen.add(name)
        yield name


def mail_hosts(name: str, *, within: float = math.inf) -> list[str]:
    """Return the hosts of the MX records of ``name``, the preferred ones first.

    A null MX (RFC 7505) is the host ``.``. It fails after ``within`` seconds.
    """
    return [host for _, host in mail_exchangers(name, within=within)]


def mail_exchangers(name: str, *, within: float = math.inf) -> list[tuple[int, str]]:
    """Return preference and host of the same records."""
    records = sorted(lookup(name, "MX", within), key=lambda record: record.preference)
    return [(record.preference, _plain(record.exchange)) for record in records]


def addresses(host: str, *, within: float = math.inf) -> list[str]:
    """Return the IP addresses of ``host``, IPv4 first, or fail after ``within`` seconds.

    Some name servers answer for one IP version only; one answer is enough.
    """
    until = time.monotonic() + within
    addresses: list[str] = []
    failure: LookupFailed | None = None
    for kind in ("A", "AAAA"):
        try:
            records = lookup(host, kind, until - time.monotonic())
            addresses += [record.address for record in records]
        except LookupFailed as error:
            failure = error
    if failure and not addresses:
        raise failure
    return addresses


def host_names(address: str) -> list[str]:
    """Return the names in the PTR records of an IP address."""
    import dns.reversename

    name = dns.reversename.from_address(address).to_text(omit_final_dot=True)
    return [_plain(record.target) for record in lookup(name, "PTR")]


def name_servers(name: str) -> list[str]:
    """Return the hosts of the NS records of ``name``: those that it is delegated to."""
    return [_plain(record.target) for record in lookup(name, "NS")]


def lookup(name: str, kind: str, within: float = math.inf) -> list[Any]:
    """Return the records of one type, as dnspython has them, or fail after ``within`` seconds."""
    return lookup_with_lifetime(name, kind, within)[0]


def lookup_with_lifetime(
    name: str | dns.name.Name, kind: str, within: float = math.inf
) -> tuple[list[Any], float]:
    """Return the same, and for how many seconds a cache may keep it (RFC 2308)."""
    import dns.exception
    import dns.resolver

    current = settings()
    resolver = _resolver(current.dns_servers, current.dns_timeout, current.dns_lifetime)
    try:
        lifetime = min(current.dns_lifetime, within)
        answer = resolver.resolve(name, kind, search=False, lifetime=lifetime)
        return list(answer), answer.chaining_result.minimum_ttl
    except dns.resolver.NXDOMAIN as error:
        return [], min(map(_negative_ttl, error.kwargs["responses"].values()), default=0)
    except dns.resolver.NoAnswer as error:
        return [], _negative_ttl(error.kwargs["response"])
    except dns.exception.DNSException as error:
        raise LookupFailed(str(name), type(error).__name__) from error


def _negative_ttl(response: Any) -> float:
    """Return how long a response without records is good: not at all without an SOA record."""
    is_authoritative = any(records.rdtype.name == "SOA" for records in response.authority)
    return float(response.resolve_chaining().minimum_ttl) if is_authoritative else 0.0


def new_resolver() -> dns.resolver.Resolver:
    """Return a resolver with the settings' servers and time limits, for queries made elsewhere."""
    current = settings()
    return _make_resolver(current.dns_servers, current.dns_timeout, current.dns_lifetime)


@cache
def _resolver(servers: str, timeout: float, lifetime: float) -> dns.resolver.Resolver:
    return _make_resolver(servers, timeout, lifetime)


def _make_resolver(servers: str, timeout: float, lifetime: float) -> dns.resolver.Resolver:
    import dns.nameserver
    import dns.resolver

    resolver = dns.resolver.Resolver(configure=not servers)
    if servers:
        resolver.nameservers = [
            dns.nameserver.Do53Nameserver(*read_host_and_port(server, _PORT))
            for server in servers.split(",")
        ]
    resolver.timeout, resolver.lifetime = timeout, lifetime
    return resolver


def _plain(name: Any) -> str:
    return name.to_text(omit_final_dot=True).lower()
