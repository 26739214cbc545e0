"""Find the addresses of this machine, as far as its network interfaces know them."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import closing

from chalicelib.core.ip_addresses import is_public

# Addresses of the root servers of the DNS: no packet is sent, only the route is looked up
_FAR_AWAY = ((socket.AF_INET, "198.41.0.4"), (socket.AF_INET6, "2001:503:ba3e::2:30"))
_ANY_PORT = 53


def public_addresses() -> list[str]:
    """Return the public addresses that connections from here come from, IPv4 first.

    There are none on a machine whose provider translates its addresses (NAT).
    """
    return [address for address in _source_addresses() if is_public(address)]


def is_own(address: str) -> bool:
    """Tell whether an interface of this machine has the address."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        with closing(socket.socket(family, socket.SOCK_DGRAM)) as probe:
            probe.bind((address, 0))
    except OSError:
        return False
    return True


def _source_addresses() -> Iterator[str]:
    for family, far_away in _FAR_AWAY:
        try:
            with closing(socket.socket(family, socket.SOCK_DGRAM)) as probe:
                probe.connect((far_away, _ANY_PORT))
                yield probe.getsockname()[0]
        except OSError:  # no route for this family
            continue
