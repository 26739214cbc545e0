"""The open connections of one server and the caps on their number."""

from __future__ import annotations

from collections import Counter
from typing import Protocol


class Guest(Protocol):
    """An open connection, as the lobby sees it."""

    @property
    def peer_ip(self) -> str:
        """The client's address."""

    def finish(self) -> None:
        """End after the message under way, at once when there is none."""

    def give_up(self) -> None:
        """End now, unless a message is being stored: then right after its reply."""

    def abort(self) -> None:
        """End now, whatever is under way."""


class Lobby:
    """Admits connections up to `max_total` in all and `max_per_address` from one address."""

    def __init__(self, max_total: int, max_per_address: int) -> None:
        self._max_total = max_total
        self._max_per_address = max_per_address
        self._guests: set[Guest] = set()
        self._per_address: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._guests)

    def enter(self, guest: Guest) -> bool:
        """Count a connection in; False, and not counted, when a cap is reached."""
        if len(self._guests) >= self._max_total:
            return False
        if self._per_address[guest.peer_ip] >= self._max_per_address:
            return False
        self._guests.add(guest)
        self._per_address[guest.peer_ip] += 1
        return True

    def leave(self, guest: Guest) -> None:
        """Count a connection out; one that was not admitted changes nothing."""
        if guest not in self._guests:
            return
        self._guests.remove(guest)
        self._per_address[guest.peer_ip] -= 1
        if not self._per_address[guest.peer_ip]:
            del self._per_address[guest.peer_ip]

    def finish(self) -> None:
        """Ask every connection to end after the message under way."""
        for guest in tuple(self._guests):
            guest.finish()

    def give_up(self) -> None:
        """End every connection that does not wait for a message to be stored."""
        for guest in tuple(self._guests):
            guest.give_up()

    def abort(self) -> None:
        """End every connection now."""
        for guest in tuple(self._guests):
            guest.abort()
