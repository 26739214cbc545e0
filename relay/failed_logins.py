"""Count failed logins by client address and by subaccount, for all processes of a relay.

- A client address is an IPv4 address or an IPv6 network (``client_networks``). A user name that
  names no subaccount counts for the address alone.
- The counts only delay replies to failed logins. A login with the right password is never counted
  and never waits, so nobody who knows a key can be locked out by others.
- A count starts again when ten minutes have passed since the last failure.
- The table has a fixed size, and lies in memory that processes share if they are forked after it is
  made. Two names may share a slot; which ones depends on a secret, so no client can choose a slot.
- Processes that count at the same instant may lose one of the failures. A lock would be worse: a
  process that is killed while it holds the lock would stop the others.
"""

from __future__ import annotations

import asyncio
import hashlib
import mmap
import secrets
from collections.abc import Awaitable, Callable

from chalicelib.core import clock
from chalicelib.core.client_networks import network_of

MEMORY_SECONDS = 600.0
_SLOTS = 65_536
# A slot has a count and the time of the last failure in milliseconds, each of eight octets.
_SLOT_SIZE = 16


class FailedLogins:
    """Counts of failed logins. ``sleep`` waits without holding a thread."""

    def __init__(self, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        self.sleep = sleep
        self._secret = secrets.token_bytes(16)
        self._slots = memoryview(mmap.mmap(-1, _SLOTS * _SLOT_SIZE)).cast("q")

    def add(self, peer_ip: str, subaccount: int | None) -> int:
        """Count a failed login; return how many its address or its subaccount had lately."""
        count = self._add(f"address {network_of(peer_ip)}")
        if subaccount is None:
            return count
        return max(count, self._add(f"subaccount {subaccount}"))

    def _add(self, name: str) -> int:
        place = 2 * self._slot_of(name)
        now_ms, last_ms = clock.now_ms(), self._slots[place + 1]
        is_recent = now_ms - last_ms < MEMORY_SECONDS * 1000
        count = self._slots[place] + 1 if is_recent else 1
        self._slots[place], self._slots[place + 1] = count, now_ms
        return count

    def _slot_of(self, name: str) -> int:
        digest = hashlib.blake2b(name.encode(), key=self._secret, digest_size=8).digest()
        return int.from_bytes(digest) % _SLOTS
