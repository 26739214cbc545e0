"""Keep the open connections of one server, within the limits on their number."""

from __future__ import annotations

from collections import Counter
from typing import Protocol

from chalicelib.core.client_networks import network_of


class OpenConnection(Protocol):
    """The methods of a connection that the registry uses."""

    @property
    def peer_ip(self) -> str:
        """The client's address."""

    def finish(self) -> None:
        """End after the message under way, at once when there is none."""

    def give_up(self) -> None:
        """End now, unless a message is being stored: then right after its reply."""

    def abort(self) -> None:
        """End now, whatever is under way."""


class OpenConnections:
    """Admits connections up to `max_total` in all and `max_per_address` from one address.

    All addresses of a client's IPv6 network count as one.
    """

    def __init__(self, max_total: int, max_per_address: int) -> None:
        self._max_total = max_total
        self._max_per_address = max_per_address
        self._connections: set[OpenConnection] = set()
        self._per_address: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._connections)

    def admit(self, connection: OpenConnection) -> bool:
        """Count a connection in; False, and not counted, when a limit is reached."""
        if len(self._connections) >= self._max_total:
            return False
        address = network_of(connection.peer_ip)
        if self._per_address[address] >= self._max_per_address:
            return False
        self._connections.add(connection)
        self._per_address[address] += 1
        return True

    def remove(self, connection: OpenConnection) -> None:
        """Count a connection out; one that was not admitted changes nothing."""
        if connection not in self._connections:
            return
        self._connections.remove(connection)
        address = network_of(connection.peer_ip)
        self._per_address[address] -= 1
        if not self._per_address[address]:
            del self._per_address[address]

    def finish(self) -> None:
        """Ask every connection to end after the message under way."""
        for connection in tuple(self._connections):
            connection.finish()

    def give_up(self) -> None:
        """End every connection that does not wait for a message to be stored."""
        for connection in tuple(self._connections):
            connection.give_up()

    def abort(self) -> None:
        """End every connection now."""
        for connection in tuple(self._connections):
            connection.abort()
