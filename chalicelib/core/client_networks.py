"""Name the network that one client may use as it likes, for limits on what a client may do."""

from __future__ import annotations

import ipaddress

_IPV6_NETWORK = 64


def network_of(address: str) -> str:
    """Return an IPv4 address itself, or the network of 64 bits of an IPv6 address.

    A host can have any address of its IPv6 network. An IPv4 address that an IPv6 socket shows
    (``::ffff:192.0.2.1``) counts as such. A text without an address is returned as it is.
    """
    if ":" not in address:
        return address
    ip = ipaddress.IPv6Address(address.partition("%")[0])
    if ip.ipv4_mapped is not None:
        return str(ip.ipv4_mapped)
    return str(ipaddress.ip_network(f"{ip}/{_IPV6_NETWORK}", strict=False))
