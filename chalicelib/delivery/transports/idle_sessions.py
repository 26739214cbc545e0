"""Hold the SMTP sessions that wait for their next message."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from dataclasses import dataclass

from chalicelib.delivery.transports.smtp_session import SmtpSession


@dataclass(frozen=True, slots=True)
class SessionKey:
    """The properties that two messages must share to use one session.

    Connections are counted by `path`.
    """

    destination: str
    source_address: str | None
    ehlo_name: str
    path: str


class IdleSessions:
    """Sessions by their keys, and in the order of their last use. The caller must hold a lock."""

    def __init__(self) -> None:
        self._keys: OrderedDict[SmtpSession, SessionKey] = OrderedDict()  # oldest use first
        self._by_key: defaultdict[SessionKey, list[SmtpSession]] = defaultdict(list)

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._keys)

    def __contains__(self, session: SmtpSession) -> bool:
        """Tell whether a session waits."""
        return session in self._keys

    def add(self, key: SessionKey, session: SmtpSession) -> None:
        """Add a session that was used just now."""
        self._keys[session] = key
        self._by_key[key].append(session)

    def take(self, key: SessionKey) -> SmtpSession | None:
        """Remove and return the session of a key that was used last."""
        sessions = self._by_key.get(key)
        if not sessions:
            return None
        session = sessions[-1]
        self.remove(session)
        return session

    def oldest(self) -> SmtpSession | None:
        """Return the session that has waited for longest."""
        return next(iter(self._keys), None)

    def of_path(self, path: str) -> list[SmtpSession]:
        """Return the sessions of a path, that with the oldest use first."""
        return [session for session, key in self._keys.items() if key.path == path]

    def remove(self, session: SmtpSession) -> None:
        """Remove a session; raises ``KeyError`` if it does not wait."""
        key = self._keys.pop(session)
        sessions = self._by_key[key]
        sessions.remove(session)
        if not sessions:
            del self._by_key[key]
