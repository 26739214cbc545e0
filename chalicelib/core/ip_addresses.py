"""Which IP addresses are everyone's to reach, and which lead into a private network."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

_NAT64 = IPv6Network("64:ff9b::/96")  # is_global lets it pass, but it leads to any IPv4 address


def is_public(address: str) -> bool:
    """Tell whether an IP address, and any IPv4 address inside it, is reachable for everyone."""
    ip = ip_address(address)
    if isinstance(ip, IPv6Address):
        if ip in _NAT64:
            return False
        if inner := ip.ipv4_mapped or ip.sixtofour or (ip.teredo and ip.teredo[1]):
            return _is_global(inner)
    return _is_global(ip)


def _is_global(ip: IPv4Address | IPv6Address) -> bool:
    return ip.is_global and not ip.is_multicast
