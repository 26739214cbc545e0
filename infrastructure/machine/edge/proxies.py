"""Believe ``X-Forwarded-*`` from the operator's own proxies, and from nobody else.

Of a request that comes from elsewhere these headers are removed: whatever reads them sees what a
proxy of ours wrote, or nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)

from infrastructure.local.gateway.request_body import Scope

_FORWARDED = (
    b"forwarded",
    b"x-forwarded-for",
    b"x-forwarded-host",
    b"x-forwarded-port",
    b"x-forwarded-proto",
    b"x-real-ip",
)

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network


@dataclass(frozen=True, slots=True)
class TrustedProxies:
    """The networks of the operator's proxies."""

    networks: tuple[Network, ...] = ()

    @classmethod
    def read(cls, text: str) -> TrustedProxies:
        """Return what ``TRUSTED_PROXIES`` says; raises ``ValueError`` with a line for the user."""
        items = [item.strip() for item in text.split(",") if item.strip()]
        return cls(tuple(map(_network, items)))

    def applied(self, scope: Scope) -> Scope:
        """Return the scope of a request with the client and the scheme that the proxies saw."""
        client = scope.get("client") or ("", 0)
        peer = _address(client[0])
        if peer is None or not self._includes(peer):
            return {
                **scope,
                "client": (str(peer or ""), client[1]),
                "headers": [each for each in scope["headers"] if each[0] not in _FORWARDED],
            }
        source = self._source(peer, _values(scope, b"x-forwarded-for"))
        schemes = _values(scope, b"x-forwarded-proto")
        scheme = schemes[-1].lower() if schemes else scope["scheme"]
        return {
            **scope,
            "client": (str(source), client[1]),
            "scheme": scheme if scheme in ("http", "https") else scope["scheme"],
        }

    def include(self, address: str) -> bool:
        """Tell whether an address is that of one of the proxies."""
        peer = _address(address)
        return peer is not None and self._includes(peer)

    def _source(self, peer: Address, hops: Sequence[str]) -> Address:
        """Return the address of the last hop that is no proxy of ours."""
        source = peer
        for hop in reversed(hops):
            address = _address(hop)
            if address is None:
                break
            source = address
            if not self._includes(address):
                break
        return source

    def _includes(self, address: Address) -> bool:
        return any(address in network for network in self.networks)


def _values(scope: Scope, name: bytes) -> list[str]:
    text = ",".join(value.decode("latin-1") for each, value in scope["headers"] if each == name)
    return [item.strip() for item in text.split(",") if item.strip()]


def _address(text: str) -> Address | None:
    """Read an address, also in brackets or with a port; one of IPv4 on an IPv6 socket as IPv4."""
    host = text.partition("]")[0].removeprefix("[") if text.startswith("[") else text
    if host.count(":") == 1:
        host = host.partition(":")[0]
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def _network(text: str) -> Network:
    try:
        return ip_network(text)
    except ValueError:
        raise ValueError(
            f"TRUSTED_PROXIES={text!r} is no address and no network, such as 192.0.2.0/24"
        ) from None
