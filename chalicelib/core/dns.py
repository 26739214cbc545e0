"""Questions to the DNS, asked afresh of the resolvers that ``DNS_SERVERS`` names.

A name that does not exist and one that lacks the type are the same answer: no records. That the DNS
could not tell (a time-out, SERVFAIL) is another: :class:`LookupFailed`. Names are returned in lower
case and without their final dot.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

from chalicelib.core.settings import settings

if TYPE_CHECKING:
    import dns.resolver

_PORT = 53
_LONGEST_CHAIN = 8


class LookupFailed(Exception):
    """The DNS did not answer a question about ``name``; it may do so later."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"the DNS gave no answer for {name} ({reason})")


def texts(name: str) -> list[str]:
    """Return the TXT records of ``name``, each with its strings put together."""
    records = _ask(name, "TXT")
    return [b"".join(record.strings).decode("utf-8", "replace") for record in records]


def aliases(name: str) -> Iterator[str]:
    """Yield where ``name`` leads by CNAME records, link by link, each asked for when it is due."""
    seen: set[str] = set()
    while len(seen) < _LONGEST_CHAIN:
        found = [_plain(record.target) for record in _ask(name, "CNAME")]
        if not found or found[0] in seen:
            return
        name = found[0]
        seen.add(name)
        yield name


def mail_hosts(name: str) -> list[str]:
    """Return the hosts of the MX records of ``name``, the preferred ones first."""
    records = sorted(_ask(name, "MX"), key=lambda record: record.preference)
    return [_plain(record.exchange) for record in records]


def addresses(host: str, *, within: float = math.inf) -> list[str]:
    """Return the IP addresses of ``host``, those of version 4 first, in so many seconds at most.

    Some name servers answer for one version only: what they do answer is enough.
    """
    until = time.monotonic() + within
    found: list[str] = []
    failure: LookupFailed | None = None
    for kind in ("A", "AAAA"):
        try:
            records = _ask(host, kind, until - time.monotonic())
            found += [record.address for record in records]
        except LookupFailed as error:
            failure = error
    if failure and not found:
        raise failure
    return found


def _ask(name: str, kind: str, within: float = math.inf) -> list[Any]:
    import dns.exception
    import dns.resolver

    chosen = settings()
    resolver = _resolver(chosen.dns_servers, chosen.dns_timeout, chosen.dns_lifetime)
    try:
        lifetime = min(chosen.dns_lifetime, within)
        return list(resolver.resolve(name, kind, search=False, lifetime=lifetime))
    except (dns.resolver.NXDOMAIN, dns.resolver.NoAnswer):
        return []
    except dns.exception.DNSException as error:
        raise LookupFailed(name, type(error).__name__) from error


def new_resolver() -> dns.resolver.Resolver:
    """Return a resolver as the settings have it, for who asks in ways of their own."""
    chosen = settings()
    return _made(chosen.dns_servers, chosen.dns_timeout, chosen.dns_lifetime)


@cache
def _resolver(servers: str, timeout: float, lifetime: float) -> dns.resolver.Resolver:
    return _made(servers, timeout, lifetime)


def _made(servers: str, timeout: float, lifetime: float) -> dns.resolver.Resolver:
    import dns.nameserver
    import dns.resolver

    resolver = dns.resolver.Resolver(configure=not servers)
    if servers:
        resolver.nameservers = [
            dns.nameserver.Do53Nameserver(*_host_and_port(server)) for server in servers.split(",")
        ]
    resolver.timeout, resolver.lifetime = timeout, lifetime
    return resolver


def _host_and_port(server: str) -> tuple[str, int]:
    """Read ``192.0.2.1``, ``192.0.2.1:5353``, ``2001:db8::1`` or ``[2001:db8::1]:5353``."""
    server = server.strip()
    if server.startswith("["):
        host, _, port = server[1:].partition("]")
        return host, int(port.removeprefix(":") or _PORT)
    if server.count(":") > 1:
        return server, _PORT
    host, _, port = server.partition(":")
    return host, int(port or _PORT)


def _plain(name: Any) -> str:
    return name.to_text(omit_final_dot=True).lower()
