"""Find the TLSA records of a domain's mail hosts (RFC 7672 2).

Only signed answers count: the resolver validates them and says so (the AD bit), and nobody stands
between it and this process. So a message is protected when the MX records of its domain, the
addresses of the host and its TLSA records are all signed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import dns.exception
import dns.flags
import dns.resolver

from chalicelib.core import clock
from chalicelib.delivery.dane.records import (
    NOTHING,
    DomainRecords,
    HostRecords,
    TlsaRecord,
    Unknown,
)
from chalicelib.delivery.transports.mx_hosts import best_hosts

_CACHE_SECONDS = 60.0
_CACHE_ENTRIES = 10_000


class Dane:
    """Looks records up, and remembers them for a minute.

    ``resolver`` asks for validated answers (:func:`validating`); ``port`` is that of mail hosts.
    """

    def __init__(self, resolver: Any, port: int = 25) -> None:
        self._resolver = resolver
        self._port = port
        self._cache: dict[str, tuple[float, DomainRecords]] = {}

    def of(self, domain: str) -> DomainRecords:
        """Return what is published about the mail hosts of a domain (in A-labels, lower case)."""
        now = clock.now()
        until, records = self._cache.get(domain, (0.0, NOTHING))
        if now < until:
            return records
        answer = self._ask(domain, "MX")
        if answer is None:
            # Hosts that are found a moment later would otherwise get mail without checks
            return DomainRecords({domain: Unknown(f"the DNS gave no answer for {domain}")})
        records = self._look_up(domain, answer)
        if len(self._cache) >= _CACHE_ENTRIES:
            self._cache.clear()
        self._cache[domain] = (now + _CACHE_SECONDS, records)
        return records

    def _look_up(self, domain: str, answer: _Answer) -> DomainRecords:
        if not answer.is_signed:
            return NOTHING
        hosts = [host for _, host in best_hosts(answer.records)] or [domain]
        return DomainRecords({host: self._of_host(host, domain) for host in hosts if host})

    def _of_host(self, host: str, domain: str) -> HostRecords | Unknown | None:
        addresses = [self._ask(host, kind) for kind in ("A", "AAAA")]
        answers = [answer for answer in addresses if answer is not None]
        if not answers:
            return Unknown(f"the DNS gave no answer for {host}")
        if not all(answer.is_signed for answer in answers):
            return None
        # A host behind an alias publishes its records at the end of it, or else at its own name
        aliases = [answer.name for answer in answers if answer.records]
        for name in dict.fromkeys([*aliases, host]):
            answer = self._ask(f"_{self._port}._tcp.{name}", "TLSA")
            if answer is None:
                return Unknown(f"the DNS gave no answer for the TLSA records of {name}")
            if answer.is_signed and answer.records:
                records = [
                    TlsaRecord(each.usage, each.selector, each.mtype, each.cert)
                    for each in answer.records
                ]
                usable = tuple(record for record in records if record.is_usable)
                return HostRecords(name, usable, tuple(dict.fromkeys([name, host, domain])))
        return None

    def _ask(self, name: str, kind: str) -> _Answer | None:
        """Return an answer, ``None`` if the DNS gave none."""
        try:
            answer = self._resolver.resolve(name, kind)
        except dns.resolver.NoAnswer as error:
            return _Answer(_is_signed(error.kwargs["response"]), name, [])
        except dns.resolver.NXDOMAIN as error:
            responses = error.kwargs["responses"].values()
            return _Answer(all(map(_is_signed, responses)), name, [])
        except dns.exception.DNSException:
            return None
        name = str(answer.canonical_name).rstrip(".").lower()
        return _Answer(_is_signed(answer.response), name, list(answer))


@dataclass(frozen=True, slots=True)
class _Answer:
    is_signed: bool
    name: str
    records: list[Any]


def _is_signed(response: Any) -> bool:
    return bool(response.flags & dns.flags.AD)


def validating(resolver: dns.resolver.Resolver) -> dns.resolver.Resolver:
    """Let a resolver ask whether answers were validated (RFC 6840 5.7); return it."""
    resolver.set_flags(dns.flags.RD | dns.flags.AD)
    return resolver
