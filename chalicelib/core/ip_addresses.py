"""Tell public IP addresses from those that lead into a private network.

An IPv6 address may hold an IPv4 address that a gateway or tunnel forwards to; then both must be
public. Of IPv6 only global unicast (2000::/3) is public: the rest is local, mapped, translated or
not assigned.
"""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
)

_GLOBAL_UNICAST = IPv6Network("2000::/3")
#: Reserved for documentation (RFC 9637); older versions of Python do not know it
_DOCUMENTATION = IPv6Network("3fff::/20")
_NOT_PUBLIC = (
    IPv4Network("192.0.0.0/24"),  # for protocols (RFC 6890); Python knows parts of it only
    IPv4Network(
        "192.88.99.0/24"
    ),  # 6to4 relays (RFC 7526): anyone may announce it and get the packets
    IPv4Network("168.63.129.16/32"),  # a cloud's own service, although the address is a public one
)
#: The middle of an ISATAP interface id (RFC 5214), before the IPv4 address that it tunnels to
_ISATAP = (0x0000_5EFE, 0x0200_5EFE)


def is_public(address: str) -> bool:
    """Tell whether an IP address, and any IPv4 address inside it, is public."""
    ip = ip_address(address)
    if isinstance(ip, IPv4Address):
        return _is_public_v4(ip)
    if ip.ipv4_mapped:  # the same host, in another spelling
        return _is_public_v4(ip.ipv4_mapped)
    if ip not in _GLOBAL_UNICAST or ip in _DOCUMENTATION or not ip.is_global:
        return False
    return all(map(_is_public_v4, _inner(ip)))


def is_loopback(host: str) -> bool:
    """Tell whether a host is this machine: ``localhost``, or an IP address of its loopback."""
    try:
        ip = ip_address(host)
    except ValueError:
        return host.lower() == "localhost"
    mapped = ip.ipv4_mapped if isinstance(ip, IPv6Address) else None
    return (mapped or ip).is_loopback


def _inner(ip: IPv6Address) -> Iterator[IPv4Address]:
    """Yield the IPv4 addresses to which packets for ``ip`` may be tunnelled."""
    if ip.sixtofour:
        yield ip.sixtofour
    if int(ip) >> 32 & 0xFFFF_FFFF in _ISATAP:
        yield IPv4Address(int(ip) & 0xFFFF_FFFF)


def _is_public_v4(ip: IPv4Address) -> bool:
    return ip.is_global and not ip.is_multicast and not any(ip in each for each in _NOT_PUBLIC)
