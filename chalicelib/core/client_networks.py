"""Name the network that one client may use as it likes, for limits on what a client may do."""

from __future__ import annotations

import ipaddress

_IPV6_NETWORK = 64
_IPV6_SITE = 48


def network_of(address: str) -> str:
    """Return an IPv4 address itself, or the network of 64 bits of an IPv6 address.

    A host can have any address of its IPv6 network. An IPv4 address that an IPv6 socket shows
    (``::ffff:192.0.2.1``) counts as such. A text without an address is returned as it is.
    """
    return _network(address, _IPV6_NETWORK)


def site_of(address: str) -> str:
    """Return the same of 48 bits of IPv6, which one customer of a network provider often has."""
    return _network(address, _IPV6_SITE)


def _network(address: str, bits: int) -> str:
    if ":" not in address:
        return address
    ip = ipaddress.IPv6Address(address.partition("%")[0])
    if ip.ipv4_mapped is not None:
        return str(ip.ipv4_mapped)
    return str(ipaddress.ip_network(f"{ip}/{bits}", strict=False))
