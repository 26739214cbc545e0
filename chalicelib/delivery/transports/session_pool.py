"""Sessions that are kept for the next message, and how many of them there may be.

A session is kept under its `Route`: a destination, and the local address and name it was opened
with. Per destination the connections, in use and idle, stay within a bound. An idle session that is
too old is not used again; one that the host has ended meanwhile shows it when it is used.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import monotonic

from chalicelib.core.bounce_classes import TRANSIENT_FAILURE
from chalicelib.core.concurrency import PerKeyLimit
from chalicelib.delivery.outcome import Outcome, Retry, internal
from chalicelib.delivery.transports import Commit, OutboundMessage
from chalicelib.delivery.transports.smtp_session import SessionFailed, SessionLost, SmtpSession


@dataclass(frozen=True, slots=True)
class PoolLimits:
    """How many connections, and for how long.

    `connections` and `messages` are per destination and per connection; `idle_seconds` is how long
    an unused session is kept (hosts end them after one to five minutes), `idle_sessions` how many
    are kept in all; `wait_seconds` is how long a message waits for its turn.
    """

    connections: int = 20
    messages: int = 1_000
    idle_seconds: float = 30.0
    idle_sessions: int = 100
    wait_seconds: float = 60.0


@dataclass(frozen=True, slots=True)
class Route:
    """What two messages must have in common to share a session."""

    destination: str
    source_address: str | None
    ehlo_name: str


Connect = Callable[[], SmtpSession]
"""Opens a new session, or raises SessionFailed."""


class SessionPool:
    """The sessions of one transport, shared by its threads."""

    def __init__(self, limits: PoolLimits) -> None:
        self._limits = limits
        self._connections = PerKeyLimit(limits.connections)
        self._lock = threading.Lock()
        self._idle: list[tuple[Route, SmtpSession]] = []  # the longest unused first
        self._is_closed = False

    def deliver(
        self, route: Route, connect: Connect, message: OutboundMessage, commit: Commit
    ) -> Outcome:
        """Send the message by an idle session of the route, or by a new one.

        A session that turns out to be worn out is replaced by a new one, once.
        """
        seconds = self._limits.wait_seconds
        with self._connections.place(route.destination, seconds) as has_place:
            if not has_place:
                text = internal("4.4.5", f"too many connections to {route.destination}")
                return Retry(451, text, TRANSIENT_FAILURE)
            try:
                return self._deliver(route, connect, message, commit)
            except SessionFailed as failure:
                return failure.outcome

    def close(self) -> None:
        """Take leave of every idle session; those in use follow when their message is done."""
        with self._lock:
            self._is_closed = True
            idle, self._idle = self._idle, []
        for _, session in idle:
            session.close()

    def _deliver(
        self, route: Route, connect: Connect, message: OutboundMessage, commit: Commit
    ) -> Outcome:
        if kept := self._take(route):
            try:
                return self._use(kept, route, message, commit)
            except SessionLost as lost:
                if not lost.worn_out:
                    raise
        self._make_room(route.destination)
        return self._use(connect(), route, message, commit)

    def _use(
        self, session: SmtpSession, route: Route, message: OutboundMessage, commit: Commit
    ) -> Outcome:
        outcome = session.deliver(message, commit)
        self._give_back(route, session)
        return outcome

    def _take(self, route: Route) -> SmtpSession | None:
        """Return the idle session of the route that was used last, if there is a good one."""
        while True:
            with self._lock:
                at = next((i for i, kept in _backwards(self._idle) if kept[0] == route), None)
                session = None if at is None else self._idle.pop(at)[1]
            if session is None or not self._is_old(session):
                return session
            session.close()

    def _give_back(self, route: Route, session: SmtpSession) -> None:
        if not session.is_open:
            return
        with self._lock:
            if self._is_closed or session.messages >= self._limits.messages:
                leaving = [session]
            else:
                self._idle.append((route, session))
                leaving = self._overdue()
        for session in leaving:
            session.close()

    def _overdue(self) -> list[SmtpSession]:
        """Take out the idle sessions that are too old or too many."""
        keep_from = max(0, len(self._idle) - self._limits.idle_sessions)
        while keep_from < len(self._idle) and self._is_old(self._idle[keep_from][1]):
            keep_from += 1
        overdue = [session for _, session in self._idle[:keep_from]]
        del self._idle[:keep_from]
        return overdue

    def _make_room(self, destination: str) -> None:
        """End an idle session of another route if a new one would be one too many."""
        with self._lock:
            here = [i for i, kept in enumerate(self._idle) if kept[0].destination == destination]
            connections = len(here) + self._connections.in_use(destination)
            too_many = connections > self._limits.connections
            session = self._idle.pop(here[0])[1] if too_many and here else None
        if session:
            session.close()

    def _is_old(self, session: SmtpSession) -> bool:
        return monotonic() - session.last_used > self._limits.idle_seconds


def _backwards(
    idle: list[tuple[Route, SmtpSession]],
) -> Iterator[tuple[int, tuple[Route, SmtpSession]]]:
    return ((i, idle[i]) for i in range(len(idle) - 1, -1, -1))
