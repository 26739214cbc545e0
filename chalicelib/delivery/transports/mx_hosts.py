"""Look up the mail hosts of a domain and their addresses (RFC 5321 5.1, RFC 7505).

- Hosts come in order of preference, those of equal preference in random order.
- A domain without MX records is its own mail host (the implicit MX), if it has an address.
- A null MX says that no address at the domain takes mail. RFC 7505 and RFC 3463 count that as a
  fault of the address (556 5.1.10), so the message fails with class 10 (Invalid Recipient). For a
  domain that does not exist it fails with class 21 (DNS Failure), because the name may come back.
- If the DNS does not answer, or answers without a host, the message is tried again later.
- Addresses that are not public are passed over unless they are allowed: a domain's owner can name
  any address, and must not make this service connect to its own network.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from ipaddress import ip_address
from itertools import product
from operator import itemgetter
from typing import Any, Protocol

import dns.exception
import dns.name
import dns.resolver

from chalicelib.core.bounce_classes import DNS_FAILURE, INVALID_RECIPIENT
from chalicelib.core.ip_addresses import is_public
from chalicelib.delivery.outcome import Failed, Retry, internal
from chalicelib.delivery.transports.smtp_session import SessionFailed

MOST_HOSTS = 10
"""Hosts that are used of one domain, however many its owner lists."""


def best_hosts(records: Iterable[Any]) -> list[tuple[int, str]]:
    """Return preference and name of the hosts of MX records that are used, the best first.

    The order of the records does not count: whoever asks again gets the same hosts.
    """
    hosts = sorted({(each.preference, str(each.exchange).rstrip(".").lower()) for each in records})
    return hosts[:MOST_HOSTS]


class Resolver(Protocol):
    """The part of `dns.resolver.Resolver` that is used here."""

    def resolve(self, qname: str, rdtype: str) -> Any:
        """Return the records, or raise as `dns.resolver.Resolver.resolve` does."""
        ...


class Unroutable(SessionFailed):
    """The DNS names no host for the message."""


class MailHosts:
    """Finds the mail hosts of domains in the DNS."""

    def __init__(self, resolver: Resolver, *, allow_private: bool = False) -> None:
        self._resolver = resolver
        self._allow_private = allow_private

    def addresses(
        self, domain: str, hosts: Sequence[str], source_address: str | None = None
    ) -> Iterator[tuple[str, str]]:
        """Yield host name and IP address to try, the best first; raises Unroutable without one.

        `hosts` are those of :meth:`hosts_of`. `source_address` limits the addresses to its family.
        A host's addresses are looked up when its turn comes; a host that cannot be looked up is
        passed over.
        """
        families = _families(source_address)
        unanswered: Unroutable | None = None
        usable = private = 0
        for host, family in product(hosts, families):
            try:
                addresses = self._host_addresses(host, family)
            except Unroutable as failure:
                unanswered = failure
                continue
            for address in addresses:
                if self._allow_private or is_public(address):
                    usable += 1
                    yield host, address
                else:
                    private += 1
        if usable:
            return
        if unanswered:
            raise unanswered
        if private:
            raise _fails("5.4.4", f"the mail hosts of {domain} have no public address")
        kinds = " or ".join(families)
        raise _retries(454, "4.4.4", f"{domain} has no mail host with a record of type {kinds}")

    def hosts_of(self, domain: str) -> list[str]:
        """Return the mail hosts of the domain in the order to try them; raises Unroutable."""
        try:
            records = best_hosts(self._ask(domain, "MX"))
        except dns.resolver.NXDOMAIN as error:
            raise _fails("5.1.2", f"the domain {domain} does not exist") from error
        if not records:
            return [domain]
        if [host for _, host in records] == [""]:
            text = internal("5.1.10", f"{domain} takes no mail (null MX)")
            raise Unroutable(Failed(556, text, INVALID_RECIPIENT))
        random.shuffle(records)
        records.sort(key=itemgetter(0))
        return [host for _, host in records if host]

    def _host_addresses(self, host: str, family: str) -> list[str]:
        try:
            return [record.address for record in self._ask(host, family)]
        except dns.resolver.NXDOMAIN:
            return []

    def _ask(self, name: str, kind: str) -> list[Any]:
        """Return the records, none if the name has none of that kind; NXDOMAIN passes through."""
        try:
            return list(self._resolver.resolve(name, kind))
        except dns.resolver.NoAnswer:
            return []
        except dns.resolver.NXDOMAIN:
            raise
        except (dns.exception.SyntaxError, dns.name.NameTooLong, dns.name.IDNAException) as error:
            raise _fails("5.1.2", f"{name} is no domain name") from error
        except dns.exception.DNSException as error:
            text = f"the DNS gave no answer for {name} ({type(error).__name__})"
            raise _retries(451, "4.4.3", text) from error


def _families(source_address: str | None) -> list[str]:
    """Return the record types of addresses to use; IPv4 first, since reputation depends on it."""
    if source_address is None:
        return ["A", "AAAA"]
    return ["A"] if ip_address(source_address).version == 4 else ["AAAA"]


def _fails(status: str, text: str) -> Unroutable:
    return Unroutable(Failed(550, internal(status, text), DNS_FAILURE))


def _retries(code: int, status: str, text: str) -> Unroutable:
    return Unroutable(Retry(code, internal(status, text), DNS_FAILURE))
