"""Count the octets of messages under way in one process, so that slow clients cannot fill its disk.

A network (``client_networks``) may have a part of what there is room for: the others can go on.
"""

from __future__ import annotations

from collections import Counter

from chalicelib.core.client_networks import network_of


class ArrivingOctets:
    """The octets that have arrived of messages that are not stored or refused yet."""

    def __init__(self, most: int, most_of_network: int) -> None:
        """With 0 there is no limit."""
        self._most = most
        self._most_of_network = most_of_network
        self._by_network: Counter[str] = Counter()
        self.octets = 0

    def add(self, peer_ip: str, count: int) -> bool:
        """Count octets in, and tell whether there is room for them."""
        network = network_of(peer_ip)
        self.octets += count
        self._by_network[network] += count
        of_network = self._by_network[network]
        return self.octets <= (self._most or self.octets) and of_network <= (
            self._most_of_network or of_network
        )

    def remove(self, peer_ip: str, count: int) -> None:
        """Count octets out."""
        network = network_of(peer_ip)
        self.octets -= count
        self._by_network[network] -= count
        if not self._by_network[network]:
            del self._by_network[network]
