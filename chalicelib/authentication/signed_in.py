"""Identify a signed-in user by the session in the cookie of a request.

Session, user and account are read in one request, and always together: a session is judged by the
user of the same moment, or a new session would be refused where a former state of its user is still
in the cache. The cache answers requests that only read. A change is judged by what the tables hold,
so that a session that has ended, or a role that was taken away, changes nothing any more.

A browser sends a cookie with forged requests, too, so whatever is no reading also needs the
session's token in a header, which no other site can read or send.
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
    user, session, must_enrol, items = _read_session(presented, owner_at, reads=reads)
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
    presented: Presented, owner_at: Key | None, *, reads: bool
) -> tuple[User, Session, bool, Mapping[Key, Any]]:
    """Return the user and session of a cookie, and whether a second factor must come first.

    It must where the user has one or the account asks for it, and the session has shown none.
    Raises 401 where the session has ended.
    """
    account_at = accounts.key_of(presented.account_id)
    user_at = users.key_of(presented.user_id)
    session_at = sessions.key_of(presented.user_id, presented.session_id)
    keys = [account_at, user_at, session_at]
    further = [owner_at] if owner_at else []
    is_cached = reads and not config_cache.missing_keys(keys)
    if is_cached and _pair(presented, config_cache.read(keys)):
        items, news = config_cache.read([*keys, *further]), []
    else:
        items, news = config_cache.read(further, uncached=keys), keys
    pair = _pair(presented, items)
    if pair is None:
        raise Unauthorized(_SESSION_ENDED)
    config_cache.learn(news, items)
    user, session = pair
    needs_factor = items[account_at]["tfa_required"] or user.tfa_enabled
    must_enrol = needs_factor and not session.second_factor
    return user, session, must_enrol, items


def _pair(presented: Presented, items: Mapping[Key, Any]) -> tuple[User, Session] | None:
    """Return the user and the session of a cookie if both are valid."""
    user_item = items.get(users.key_of(presented.user_id))
    session_item = items.get(sessions.key_of(presented.user_id, presented.session_id))
    if not user_item or not session_item:
        return None
    if not items.get(accounts.key_of(presented.account_id)):
        return None
    user, session = users.from_item(user_item), sessions.from_item(session_item)
    is_valid = session.is_valid(user, clock.now()) and user.status == user_model.ACTIVE
    return (user, session) if is_valid and user.account_id == presented.account_id else None
