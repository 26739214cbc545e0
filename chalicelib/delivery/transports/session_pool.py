"""Reuse SMTP sessions, within a limit of connections per path.

An idle session serves a message with the same `SessionKey`: destination, local address and EHLO
name. The limit counts the connections of a path that are in use and idle. An idle session
that is too old is not used again. A session that the host has closed fails when it is used, and a
new one replaces it.

Where the processes of this host share the connections of a path, a session has one of them until it
is closed. So that each process gets its turn, such a session is closed soon while others wait.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from time import monotonic

from chalicelib.core.bounce_classes import TRANSIENT_FAILURE
from chalicelib.core.concurrency import Limit, PerKeyLimit
from chalicelib.core.shared_places import Place, shared_places
from chalicelib.core.timed_calls import TimedCalls
from chalicelib.delivery.outcome import Outcome, Retry, internal
from chalicelib.delivery.transports import Commit, OutboundMessage
from chalicelib.delivery.transports.idle_sessions import IdleSessions, SessionKey
from chalicelib.delivery.transports.smtp_session import (
    SessionFailed,
    SessionLost,
    SmtpSession,
    close_all,
)

_TURN_SECONDS = 2.0
_UNUSED_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Sharing:
    """How many connections the processes of this host share, and how many processes they are."""

    connections: int
    processes: int

    def turn_seconds(self, most: float) -> float:
        """Return for how long each may have one, if all others may wait for ``most`` seconds."""
        return min(_TURN_SECONDS, most * self.connections / self.processes / 2)


def not_shared(_: str) -> Sharing | None:
    """Share the connections of no path."""
    return None


@dataclass(frozen=True, slots=True)
class PoolLimits:
    """How many connections, and for how long.

    `connections` is per path, a number or a function of the path; `messages` per connection.
    `sharing` tells how the processes of this host share those of a path (None: each has its own).
    `idle_seconds` is how long an unused session stays open (hosts close them after one to five
    minutes), `idle_sessions` how many stay open in all, well below the 1,024 files that a process
    may open on many hosts. `wait_seconds` is how long a message waits for a connection.
    """

    connections: Limit = 20
    messages: int = 1_000
    idle_seconds: float = 30.0
    idle_sessions: int = 400
    wait_seconds: float = 60.0
    sharing: Callable[[str], Sharing | None] = not_shared


Connect = Callable[[], SmtpSession]
"""Opens a new session; raises SessionFailed."""


class SessionPool:
    """The sessions of one transport, shared by its threads."""

    def __init__(self, limits: PoolLimits) -> None:
        self._limits = limits
        self._connections = PerKeyLimit(limits.connections)
        self._lock = threading.Lock()
        self._idle = IdleSessions()
        self._is_closed = False
        self._timed_calls = TimedCalls()

    def send(
        self, key: SessionKey, connect: Connect, message: OutboundMessage, commit: Commit
    ) -> Outcome:
        """Send the message by an idle session of its key, or by a new one.

        A session that turns out to be stale is replaced by a new one, once.
        """
        seconds = self._limits.wait_seconds
        with self._connections.place(key.path, seconds) as has_place:
            if not has_place:
                return _too_many(key)
            try:
                return self._send(key, connect, message, commit)
            except SessionFailed as failure:
                return failure.outcome

    def close(self) -> None:
        """Close every idle session; those in use are closed after their message."""
        with self._lock:
            self._is_closed = True
            idle = self._overdue(most=0)
        close_all(idle)

    def _send(
        self, key: SessionKey, connect: Connect, message: OutboundMessage, commit: Commit
    ) -> Outcome:
        if session := self._take_idle(key):
            try:
                return self._use(session, key, message, commit)
            except SessionLost as failure:
                if not failure.stale:
                    raise
        return self._use(self._open(key, connect), key, message, commit)

    def _open(self, key: SessionKey, connect: Connect) -> SmtpSession:
        """Open a session; where connections are shared, at a place of this process."""
        place = self._make_room(key.path)
        try:
            place = place or self._take_place(key)
            session = connect()
        except BaseException:
            if place:
                place.release()
            raise
        session.place = place
        return session

    def _take_place(self, key: SessionKey) -> Place | None:
        """Wait for one of the connections of a path, if they are shared; raises SessionFailed."""
        sharing, most = self._limits.sharing(key.path), self._limits.wait_seconds
        if not sharing:
            return None
        turn = sharing.turn_seconds(most)
        place = shared_places().take(key.path, sharing.connections, most, turn_seconds=turn)
        if place is None:
            raise SessionFailed(_too_many(key))
        return place

    def _use(
        self, session: SmtpSession, key: SessionKey, message: OutboundMessage, commit: Commit
    ) -> Outcome:
        try:
            outcome = session.send(message, commit)
        except BaseException:
            session.abandon()
            raise
        most = message.messages_per_connection or self._limits.messages
        is_over = session.place is not None and session.place.is_over()
        if session.messages >= most or not session.is_reusable or is_over:
            session.close()
        else:
            self._give_back(key, session)
        return outcome

    def _take_idle(self, key: SessionKey) -> SmtpSession | None:
        """Return the idle session of the key that was used last, if one is young enough."""
        with self._lock:
            overdue = self._overdue(self._limits.idle_sessions)
            session = self._idle.take(key)
        close_all(overdue)
        return session

    def _give_back(self, key: SessionKey, session: SmtpSession) -> None:
        if not session.is_open:
            return
        with self._lock:
            if self._is_closed:
                surplus = [session]
            else:
                self._idle.add(key, session)
                surplus = self._overdue(self._limits.idle_sessions)
                if session.place:
                    self._look_again(session, session.messages)
        close_all(surplus)

    def _look_again(self, session: SmtpSession, messages: int) -> None:
        call = partial(self._close_unused, session, messages)
        self._timed_calls.call_after(_UNUSED_SECONDS, call)

    def _close_unused(self, session: SmtpSession, messages: int) -> None:
        """Close a session that was not used again, once another process wants its connection."""
        with self._lock:
            is_unused = session in self._idle and session.messages == messages
            if not is_unused or not session.place:
                return
            if not session.place.is_wanted() and not self._is_old(session):
                self._look_again(session, messages)
                return
            self._idle.remove(session)
        # Timed calls must not wait for a host that may not answer
        threading.Thread(target=session.close, name="close-session", daemon=True).start()

    def _overdue(self, most: int) -> list[SmtpSession]:
        """Remove the idle sessions that are too old or more than ``most``, and return them."""
        overdue = []
        while oldest := self._idle.oldest():
            if len(self._idle) <= most and not self._is_old(oldest):
                break
            self._idle.remove(oldest)
            overdue.append(oldest)
        return overdue

    def _make_room(self, path: str) -> Place | None:
        """Close an idle session of the path if a new one would be one too many.

        Return its place among shared connections, for the new one.
        """
        with self._lock:
            idle = self._idle.of_path(path)
            connections = len(idle) + self._connections.in_use(path)
            if not idle or connections <= self._connections.limit_of(path):
                return None
            session = idle[0]
            self._idle.remove(session)
        place, session.place = session.place, None
        session.close()
        return place

    def _is_old(self, session: SmtpSession) -> bool:
        return monotonic() - session.last_used > self._limits.idle_seconds


def _too_many(key: SessionKey) -> Retry:
    text = internal("4.4.5", f"too many connections to {key.destination}")
    return Retry(451, text, TRANSIENT_FAILURE)
