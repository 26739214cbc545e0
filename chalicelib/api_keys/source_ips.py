"""Restrict a key to addresses and networks, IPv4 and IPv6 (spec 5.4).

An IPv4 address that arrives in its IPv6 form (``::ffff:192.0.2.1``) is the IPv4 address.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

_MAPPED_BITS = 96

_Network = IPv4Network | IPv6Network


def is_network(text: str) -> bool:
    """Tell whether ``text`` is an address or a network such as ``192.0.2.0/24``."""
    try:
        _network(text)
    except ValueError:
        return False
    return True


def admits(valid_ips: Sequence[str], peer: str) -> bool:
    """Tell whether a request from ``peer`` may use a key; with no ``valid_ips`` any may."""
    if not valid_ips:
        return True
    try:
        address = ip_address(peer.partition("%")[0])
    except ValueError:
        return False
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return any((mapped or address) in _network(text) for text in valid_ips)


@lru_cache(maxsize=4096)
def _network(text: str) -> _Network:
    """Return the network; host bits may be set."""
    network = ip_network(text.strip(), strict=False)
    if isinstance(network, IPv6Network) and network.prefixlen >= _MAPPED_BITS:
        mapped = network.network_address.ipv4_mapped
        if mapped is not None:
            return IPv4Network((mapped, network.prefixlen - _MAPPED_BITS))
    return network
