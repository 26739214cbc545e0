"""Store the sessions of signed-in users, each under the SHA-256 of its random secret.

A session is void once its user has another stamp (after a new password, role or status), once it
was idle for ``SESSION_IDLE``, and after ``SESSION_LIFETIME``.

Access patterns of ``config``:

- one session, by its secret → ``user#<user>`` / ``session#<sha256 of the secret>`` (cached for
  ``KEY_CACHE_SECONDS``)
- the sessions of a user → ``user#<user>`` / ``session#*``
"""

from __future__ import annotations

import hmac
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from chalicelib.core import audit, clock, config_cache, dynamo
from chalicelib.core.config_cache import Key
from chalicelib.core.dynamo import Keyed, Table, TransactionFailed, Write
from chalicelib.core.errors import Unauthorized
from chalicelib.core.settings import settings
from chalicelib.users.model import User, digest, draw_secret

_MOST_AGENT = 200
_HOUR = 3600


@dataclass(frozen=True, slots=True)
class Session:
    """A session; ``id`` is the SHA-256 of its secret. Times are seconds.

    ``method`` is how the user signed in: ``password``, ``passkey`` or the name of a provider.
    ``second_factor`` tells whether the user showed one.
    """

    id: str
    user_id: str
    stamp: str
    created: float
    used: float
    expires: int
    method: str
    second_factor: bool
    ip: str
    agent: str

    def is_valid(self, user: User, now: float) -> bool:
        """Tell whether the session is still one of its user."""
        ends = min(self.expires, self.used + settings().session_idle)
        return now < ends and hmac.compare_digest(self.stamp, user.stamp)


class SessionItem(Keyed):
    """A session of a user: the fields of ``Session``; its times are seconds."""

    id: str
    user_id: str
    stamp: str
    created: float
    used: float
    expires: int
    method: str
    second_factor: bool
    ip: str
    agent: str


_sessions: Table[SessionItem] = Table("config")


def key_of(user_id: str, session_id: str) -> Key:
    """Return the key of a session."""
    return (f"user#{user_id}", f"session#{session_id}")


def begin(
    user: User,
    *,
    method: str,
    second_factor: bool,
    ip: str,
    agent: str,
    lines: Sequence[Write] = (),
) -> tuple[str, str]:
    """Store a new session; return its secret and its id. An earlier secret is never taken over.

    ``lines`` are those of the audit log, in the same transaction.
    """
    secret, now = draw_secret(), clock.now()
    session = Session(
        id=digest(secret),
        user_id=user.id,
        stamp=user.stamp,
        created=now,
        used=now,
        expires=int(now + settings().session_lifetime),
        method=method,
        second_factor=second_factor,
        ip=ip,
        agent=agent[:_MOST_AGENT],
    )
    audit.commit(dynamo.put(_sessions, _to_item(session)), lines)
    return secret, session.id


def of_user(user: User) -> list[Session]:
    """Return the valid sessions of a user, the last used first."""
    sessions, now = [from_item(item) for item in _of_user(user.id)], clock.now()
    valid = [session for session in sessions if session.is_valid(user, now)]
    return sorted(valid, key=lambda session: -session.used)


def end(user_id: str, session_id: str, lines: Sequence[Write] = ()) -> bool:
    """End a session; return ``False`` if the user has no such one."""
    key = key_of(user_id, session_id)
    try:
        audit.commit(dynamo.delete(_sessions, *key, condition="attribute_exists(#pk)"), lines)
    except TransactionFailed:
        return False
    finally:
        config_cache.forget(key)
    return True


def erase(user_id: str) -> None:
    """Remove all sessions of a user, also those that are void."""
    keys = [(item["pk"], item["sk"]) for item in _of_user(user_id)]
    _sessions.write_all([], delete=keys)
    config_cache.forget(*keys)


def show_second_factor(session: Session, lines: Sequence[Write] = ()) -> None:
    """Note that the user of a session showed a second factor; a void session stays void."""
    _change(session, "SET #second_factor = :yes", {"yes": True}, lines)


def restamp(session: Session, stamp: str, *, second_factor: bool) -> None:
    """Let one session outlive a new stamp of its user; note whether it shows a second factor.

    The change of the user that drew the stamp must have met the session's former one
    (:func:`check_stamp`), or a void session would become valid.
    """
    values = {"stamp": stamp, "shows": second_factor}
    _change(session, "SET #second_factor = :shows, #stamp = :stamp", values)


def check_stamp(session: Session, user: User) -> None:
    """Raise 401 if all sessions of the user have ended since ``session`` was read."""
    if not hmac.compare_digest(session.stamp, user.stamp):
        raise Unauthorized


def keep_alive(session: Session) -> None:
    """Note that a session is in use, once an hour, or more often where it ends sooner."""
    now = clock.now()
    if now - session.used >= min(_HOUR, settings().session_idle / 8):
        _change(session, "SET #used = :now", {"now": now})


def get(user_id: str, session_id: str) -> Session | None:
    """Return a session, or ``None``."""
    item = _sessions.get(*key_of(user_id, session_id))
    return from_item(item) if item else None


def from_item(item: SessionItem) -> Session:
    """Return the session that an item of the table holds."""
    fields: dict[str, Any] = {k: v for k, v in item.items() if k not in ("pk", "sk")}
    return replace(Session(**fields), expires=int(item["expires"]))


def _of_user(user_id: str) -> Iterator[SessionItem]:
    key = "#pk = :pk AND begins_with(#sk, :prefix)"
    values = {"pk": f"user#{user_id}", "prefix": "session#"}
    return _sessions.query_all(key, values, consistent=True)


def _change(
    session: Session, expression: str, values: dict[str, Any], lines: Sequence[Write] = ()
) -> None:
    key, exists = key_of(session.user_id, session.id), "attribute_exists(#pk)"
    update = dynamo.update(_sessions, *key, expression, values=values, condition=exists)
    try:
        audit.commit(update, lines)
    except TransactionFailed:  # ended meanwhile
        pass
    finally:
        config_cache.forget(key)


def _to_item(session: Session) -> SessionItem:
    pk, sk = key_of(session.user_id, session.id)
    return {
        "pk": pk,
        "sk": sk,
        "id": session.id,
        "user_id": session.user_id,
        "stamp": session.stamp,
        "created": session.created,
        "used": session.used,
        "expires": session.expires,
        "method": session.method,
        "second_factor": session.second_factor,
        "ip": session.ip,
        "agent": session.agent,
    }
