"""Look up the addresses of host names in the local DNS, and nowhere else."""

from __future__ import annotations

from collections.abc import Callable

from dnslib import QTYPE, DNSError, DNSRecord

from infrastructure.local.dns.record_syntax import BadRecord, read_name

_TIMEOUT_SECONDS = 5.0

#: Returns the IPv4 addresses of a host name, none if it has none.
AddressLookup = Callable[[str], list[str]]


def no_addresses(name: str) -> list[str]:
    """Know no name: there is no local DNS."""
    return []


def asking(server: tuple[str, int]) -> AddressLookup:
    """Return the lookup that asks the DNS server at a host and port."""

    def lookup(name: str) -> list[str]:
        try:
            query = DNSRecord.question(read_name(name), "A")
            response = DNSRecord.parse(query.send(*server, timeout=_TIMEOUT_SECONDS))
        except (BadRecord, OSError, DNSError):
            return []
        return [str(record.rdata) for record in response.rr if record.rtype == QTYPE.A]

    return lookup
