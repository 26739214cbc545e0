"""Limit the messages and recipients of a network, and the recipients of an inbound domain.

- A network is an IPv4 address or an IPv6 network (``client_networks``).
- A limit is for a minute. What counts is the present minute of the clock, and of the minute before
  the part that lies within the last sixty seconds.
- What goes beyond a limit is not counted, so that a client that keeps trying is served again soon.
- All processes of a relay share the counts (``shared_counts``).
"""

from __future__ import annotations

from chalicelib.core import clock
from chalicelib.core.client_networks import network_of
from relay.config import RelayConfig
from relay.shared_counts import SharedSlots

_WINDOW_MS = 60_000


class Traffic:
    """The counts of the last minute."""

    def __init__(self) -> None:
        # The number of a minute, the count of that minute, and that of the minute before
        self._slots = SharedSlots(3)

    def allows_message(self, peer_ip: str, config: RelayConfig) -> bool:
        """Count a message, and tell whether its network may send it."""
        return self._allows("message", peer_ip, config.max_network_messages)

    def allows_recipient(self, peer_ip: str, config: RelayConfig) -> bool:
        """Count a recipient, and tell whether the client's network may name it."""
        return self._allows("recipient", peer_ip, config.max_network_recipients)

    def allows_domain(self, domain: str, config: RelayConfig) -> bool:
        """Count a recipient at an inbound domain, and tell whether the domain may have it."""
        return self._within(f"domain {domain}", config.max_domain_recipients)

    def _allows(self, kind: str, peer_ip: str, limit: int) -> bool:
        return not limit or self._within(f"{kind} {network_of(peer_ip)}", limit)

    def _within(self, name: str, limit: int) -> bool:
        if not limit:
            return True
        slot = self._slots.slot(name)
        now_ms = clock.now_ms()
        window = now_ms // _WINDOW_MS
        if slot[0] != window:
            slot[2] = slot[1] if slot[0] == window - 1 else 0
            slot[0], slot[1] = window, 0
        of_last = slot[2] * (_WINDOW_MS - now_ms % _WINDOW_MS) // _WINDOW_MS
        if slot[1] + of_last >= limit:
            return False
        slot[1] += 1
        return True
