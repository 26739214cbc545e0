"""Identify a signed-in user by the session in the cookie of a request.

Session, user and account are read in one request. A browser sends a cookie with forged requests,
too, so whatever is no reading also needs the session's token in a header, which no other site can
read or send.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chalicelib.accounts.store import accounts
from chalicelib.authentication.service import scope_of, subaccount_at
from chalicelib.core import clock, config_cache
from chalicelib.core.config_cache import Key
from chalicelib.core.errors import Forbidden, Unauthorized
from chalicelib.core.request import Actor, Caller, Request, SignedIn
from chalicelib.users import cookies
from chalicelib.users import model as user_model
from chalicelib.users.cookies import Presented
from chalicelib.users.model import User
from chalicelib.users.store import sessions, users
from chalicelib.users.store.sessions import Session

_NO_TOKEN = "a change by a session needs its csrf_token in the header X-CSRF-Token"
_SESSION_ENDED = "the session has ended: sign in again"


def identify(request: Request, number: str | None, *, reads: bool) -> Caller | None:
    """Return the user whose session the cookie of a request names; ``None`` without such a cookie.

    ``number`` is the subaccount that the header names. Raises 401, or 403 where the request
    ``reads`` not only and lacks the session's token.
    """
    presented = cookies.read_cookie(request.cookie(cookies.session_cookie().name))
    if presented is None:
        return None
    owner_at = subaccount_at(number)
    user, session, must_enrol, items = _read_session(presented, owner_at)
    token = request.headers.get(cookies.CSRF_HEADER, "")
    if not reads and not cookies.is_csrf_token(session.id, token):
        raise Forbidden(_NO_TOKEN)
    sessions.keep_alive(session)
    owner = items.get(owner_at, {}).get("account_id") if owner_at else None
    return Caller(
        scope_of(user.account_id, user.subaccount_id, number, spans=reads, owner=owner),
        "",
        user.all_grants(),
        user.subaccount_id,
        Actor("user", user.id, user.email),
        SignedIn(user.id, session.id, must_enrol),
    )


def _read_session(
    presented: Presented, owner_at: Key | None
) -> tuple[User, Session, bool, Mapping[Key, Any]]:
    """Return the user and session of a cookie, and whether a second factor must come first.

    It must where the user has one or the account asks for it, and the session has shown none.
    Raises 401 where the session has ended.
    """
    account_at = accounts.key_of(presented.account_id)
    user_at = users.key_of(presented.user_id)
    session_at = sessions.key_of(presented.user_id, presented.session_id)
    further = [owner_at] if owner_at else []
    items = config_cache.read([account_at, user_at, session_at, *further])
    if not {account_at, user_at, session_at} <= items.keys():
        raise Unauthorized(_SESSION_ENDED)
    user = users.from_item(items[user_at])
    session = sessions.from_item(items[session_at])
    is_valid = session.is_valid(user, clock.now()) and user.status == user_model.ACTIVE
    if not is_valid or user.account_id != presented.account_id:
        raise Unauthorized(_SESSION_ENDED)
    needs_factor = items[account_at]["tfa_required"] or user.tfa_enabled
    must_enrol = needs_factor and not session.second_factor
    return user, session, must_enrol, items
