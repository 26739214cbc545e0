"""Count failed logins by client address and by subaccount, for all processes of a relay.

- A client address is an IPv4 address or an IPv6 network (``client_networks``). A user name that
  names no subaccount counts for the address alone.
- The counts only delay replies to failed logins. A login with the right password is never counted
  and never waits, so nobody who knows a key can be locked out by others.
- A count starts again when ten minutes have passed since the last failure.
- All processes of a relay share the counts (``shared_counts``).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from chalicelib.core import clock
from chalicelib.core.client_networks import network_of
from relay.shared_counts import SharedSlots

MEMORY_SECONDS = 600.0


class FailedLogins:
    """Counts of failed logins. ``sleep`` waits without holding a thread."""

    def __init__(self, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        self.sleep = sleep
        # A count, and the time of the last failure in milliseconds
        self._slots = SharedSlots(2)

    def add(self, peer_ip: str, subaccount: int | None) -> int:
        """Count a failed login; return how many its address or its subaccount had lately."""
        count = self._add(f"address {network_of(peer_ip)}")
        if subaccount is None:
            return count
        return max(count, self._add(f"subaccount {subaccount}"))

    def _add(self, name: str) -> int:
        slot = self._slots.slot(name)
        now_ms = clock.now_ms()
        is_recent = now_ms - slot[1] < MEMORY_SECONDS * 1000
        count = slot[0] + 1 if is_recent else 1
        slot[0], slot[1] = count, now_ms
        return count
