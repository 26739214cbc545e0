"""Send messages in an open SMTP session, one after the other.

A message costs two round trips when the host offers PIPELINING (RFC 2920): MAIL, RCPT and DATA
together, then the content and its dot. A session that breaks before the dot raises `SessionLost`,
so that the caller may use another one. A failure after the dot is a `Retry`, and this message is
not sent again in this attempt.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from time import monotonic

from chalicelib.core.bounce_classes import SOFT_BOUNCE, TIMEOUT
from chalicelib.core.shared_places import Place
from chalicelib.delivery.classify import classify
from chalicelib.delivery.outcome import Delivered, Failed, Outcome, Retry, internal
from chalicelib.delivery.transports import Commit, OutboundMessage
from chalicelib.delivery.transports.smtp_envelope import (
    Extensions,
    SmtpEnvelope,
    envelope_for,
    wire_data,
)
from chalicelib.delivery.transports.smtp_wire import (
    ConnectionLost,
    HostReply,
    ReplyTimeout,
    SmtpWire,
    Timeouts,
)

_LAST_PIECE = 32_768  # goes out in one write with the dot; larger pieces would hold up the commit
_MOMENT = 0.001
_CLOSING = 421
_GO_AHEAD = 354
_POLICY = "4.7."


class SessionFailed(Exception):
    """The message was not handed over; `outcome` is what that means for it."""

    def __init__(self, outcome: Retry | Failed) -> None:
        super().__init__(f"{outcome.code} {outcome.reply}")
        self.outcome = outcome


class SessionLost(SessionFailed):
    """The session ended before the dot; `stale` if it may just have been idle for too long."""

    def __init__(self, outcome: Retry, *, stale: bool) -> None:
        super().__init__(outcome)
        self.stale = stale


class SmtpSession:
    """An open session. One thread at a time may use it.

    `is_reusable` says whether it may serve another message after the first one. `tls_failure` is
    the kind of failure because of which it is in the clear, empty if there was none. `place` is its
    place among connections that the processes of this host share; it gives it back at its end.
    """

    def __init__(self, wire: SmtpWire, extensions: Extensions, timeouts: Timeouts) -> None:
        self._wire = wire
        self._extensions = extensions
        self._timeouts = timeouts
        self._needs_reset = False
        self._is_clean = True  # between messages, as far as is known
        self.is_open = True
        self.is_reusable = True
        self.tls_failure = ""
        self.place: Place | None = None
        self.messages = 0
        self.last_used = monotonic()

    @property
    def is_encrypted(self) -> bool:
        """Whether the session uses TLS."""
        return self._wire.tls is not None

    @property
    def sending_ip(self) -> str:
        """The local address of the connection."""
        return self._wire.sending_ip

    def send(self, message: OutboundMessage, commit: Commit) -> Outcome:
        """Send one message; raises SessionLost if the session broke before the dot."""
        envelope = envelope_for(message, self._extensions)
        if isinstance(envelope, Failed):
            return envelope
        data = wire_data(message.data)
        head, tail = memoryview(data)[:-_LAST_PIECE], data[-_LAST_PIECE:]
        try:
            refusal = self._begin(envelope) or self._send_head(head)
        except ConnectionLost as error:
            self.abandon()
            raise self._lost(error) from error
        return refusal or self._commit(commit, tail)

    def close(self) -> None:
        """Say QUIT, and close the connection once the host has answered."""
        close_all([self])

    def say_goodbye(self) -> float:
        """Send QUIT, unless that would block; return how many seconds the host has to answer."""
        with contextlib.suppress(ConnectionLost):
            self._wire.send(b"QUIT\r\n", 0)
        return self._timeouts.quit

    def end(self, deadline: float) -> None:
        """Close the connection when the host has answered QUIT, or at the time ``deadline``.

        An answer that is there is read even later: the host would see its connection break.
        """
        with contextlib.suppress(ConnectionLost):
            self._wire.read_reply(max(_MOMENT, deadline - monotonic()))
        self.abandon()

    def abandon(self) -> None:
        """Close the connection without QUIT."""
        self.is_open = False
        self._wire.close()
        place, self.place = self.place, None
        if place:
            place.release()

    def _begin(self, envelope: SmtpEnvelope) -> Retry | Failed | None:
        """Send the commands up to DATA; return None if the host asks for the content (354)."""
        if self._wire.has_unread():
            raise ConnectionLost("the remote host spoke out of turn")  # or closed the connection
        commands = [envelope.mail, envelope.rcpt, b"DATA\r\n"]
        if self._needs_reset:
            commands.insert(0, b"RSET\r\n")
        replies = self._exchange(commands)
        if self._needs_reset and replies.pop(0).code != 250:
            raise ConnectionLost("the remote host did not reset the session")
        self._needs_reset = False
        decisive = next((reply for reply in replies[:2] if reply.code >= 300), replies[-1])
        if decisive.code == _GO_AHEAD:
            return None
        if decisive.code < 400:
            raise ConnectionLost(f"the remote host answered {decisive.code} out of turn")
        if replies[-1].code == _GO_AHEAD:
            self.abandon()  # only a dot would end this, and none is sent without a recipient
        self._needs_reset = True
        return self._refusal(decisive)

    def _exchange(self, commands: list[bytes]) -> list[HostReply]:
        """Send the commands and return the replies: to all of them, or up to a refusal.

        A host may hang up once it has refused; its refusal counts all the same.
        """
        groups = [b"".join(commands)] if "PIPELINING" in self._extensions else commands
        replies: list[HostReply] = []
        try:
            for group in groups:
                if refusal := self._send(group, self._timeouts.command):
                    self.abandon()
                    return [*replies, refusal]
                self._wire.acknowledge_at_once()
                for _ in range(len(commands) // len(groups)):
                    replies.append(self._read())
                if replies[-1].code >= 400:
                    break
        except ConnectionLost:
            if not any(reply.code >= 400 for reply in replies):
                raise
            self.abandon()
        return replies

    def _send_head(self, head: memoryview) -> Retry | Failed | None:
        """Send all but the last piece; a host that hangs up meanwhile may have said why."""
        reply = self._send(head, self._timeouts.data)
        if reply is None:
            return None
        self.abandon()
        return self._refusal(reply)

    def _send(self, data: bytes | memoryview, seconds: float) -> HostReply | None:
        """Send data; return the refusal with which the host hung up, if it did."""
        reply = self._wire.send_or_hear(data, seconds, self._timeouts.quit)
        if reply and reply.code == _CLOSING:
            raise _Closing(reply)
        return reply

    def _read(self) -> HostReply:
        reply = self._wire.read_reply(self._timeouts.command)
        if reply.code == _CLOSING:
            raise _Closing(reply)
        return reply

    def _commit(self, commit: Commit, tail: bytes) -> Outcome:
        self._is_clean = False
        try:
            return commit(lambda: self._finish(tail))
        finally:
            if not self._is_clean:
                self.abandon()

    def _finish(self, tail: bytes) -> Outcome:
        """Send the last piece with the dot, and return the outcome."""
        timeouts = self._timeouts
        try:
            refusal = self._wire.send_or_hear(tail + b".\r\n", timeouts.command, timeouts.quit)
            if refusal:
                return self._refusal(refusal)
            reply = self._wire.read_reply(timeouts.final)
            if 300 <= reply.code < 400:
                raise ConnectionLost(f"the remote host answered {reply.code} out of turn")
        except ConnectionLost as error:
            return self._broken_connection(error, ", after the whole message was sent")
        self._is_clean = True
        self.messages += 1
        self.last_used = monotonic()
        if reply.code == _CLOSING:
            self.abandon()
        if reply.code < 300:
            return Delivered(reply.code, reply.text, *self._wire.ends)
        return self._refusal(reply)

    def _refusal(self, reply: HostReply) -> Retry | Failed:
        kind = Failed if reply.code >= 500 else Retry
        bounce_class = classify(reply.code, reply.text)
        return kind(reply.code, reply.text, bounce_class, *self._wire.ends)

    def _lost(self, error: ConnectionLost) -> SessionLost:
        if isinstance(error, _Closing):
            text, bounce_class = error.reply.text, classify(_CLOSING, error.reply.text)
            closed = Retry(_CLOSING, text, bounce_class, *self._wire.ends)
            # A policy would be the same in another session (RFC 3463 3.8)
            return SessionLost(closed, stale=not text.startswith(_POLICY))
        stale = not isinstance(error, ReplyTimeout)
        return SessionLost(self._broken_connection(error), stale=stale)

    def _broken_connection(self, error: ConnectionLost, when: str = "") -> Retry:
        return broken_connection(error, when, *self._wire.ends)


def close_all(sessions: Iterable[SmtpSession]) -> None:
    """Say QUIT to all hosts, and close the connections once they have answered.

    All together have the time of one.
    """
    open_ones = [session for session in sessions if session.is_open]
    seconds = [session.say_goodbye() for session in open_ones]
    deadline = monotonic() + max(seconds, default=0.0)
    for session in open_ones:
        session.end(deadline)


class _Closing(ConnectionLost):
    """The host said that it is closing the session (421)."""

    def __init__(self, reply: HostReply) -> None:
        super().__init__(reply.text)
        self.reply = reply


def broken_connection(error: ConnectionLost, when: str = "", *ends: str | None) -> Retry:
    """Return the outcome for a message whose connection, with these ends, broke."""
    timed_out = isinstance(error, ReplyTimeout)
    bounce_class = TIMEOUT if timed_out else SOFT_BOUNCE
    return Retry(_CLOSING, internal("4.4.2", f"{error}{when}"), bounce_class, *ends)
