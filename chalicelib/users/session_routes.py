"""Serve ``/me``, ``/sign-out`` and ``/sessions``: what signed-in users do about themselves."""

from __future__ import annotations

from dataclasses import replace

from chalicelib.accounts.store import accounts
from chalicelib.core import audit
from chalicelib.core.errors import Forbidden, NotFound, Unauthorized
from chalicelib.core.http import ENROLLING, PERSON, Reply, Request, Routes, empty, ok
from chalicelib.core.params import Params
from chalicelib.users import cookies, devices, passwords, throttle
from chalicelib.users.model import User, draw_secret
from chalicelib.users.request import MOST_NAME
from chalicelib.users.store import sessions, users
from chalicelib.users.store.sessions import Session
from chalicelib.users.view import own_view, session_view

routes = Routes(__name__)


@routes.get("/api/v1/me", grant=PERSON)
def show_me(request: Request) -> Reply:
    """Return the signed-in user, its account and the token that changes need."""
    user = _me(request)
    return ok(own_view(user, accounts.get_cached(user.account_id), request.user))


@routes.put("/api/v1/me", grant=PERSON)
def change_me(request: Request) -> Reply:
    """Change the name or the password of the signed-in user.

    A new password needs the old one, and ends all other sessions.
    """
    user = _me(request)
    params = Params(request.json())
    name = params.text("name", most=MOST_NAME, blank=True)
    company_name = accounts.get_cached(user.account_id).company_name
    password = passwords.read_new(
        params, "password", email=user.email, company_name=company_name, required=False
    )
    needs_old = password is not None and bool(user.password)
    old = params.text("old_password", most=passwords.LONGEST, required=needs_old)
    params.check()
    if needs_old:
        _check_old_password(request, user, old or "")
    session = sessions.get(user.id, request.user.session_id)
    if session is None:
        raise Unauthorized
    changed = _change(user, session, name, password)
    if password is not None:
        sessions.restamp(session, changed.stamp, second_factor=session.second_factor)
    return ok(own_view(changed, accounts.get_cached(user.account_id), request.user))


@routes.post("/api/v1/sign-out", grant=ENROLLING)
def sign_out(request: Request) -> Reply:
    """End the session of the request."""
    own = request.user
    sessions.end(own.user_id, own.session_id, audit.line(own.user_id, None, None))
    reply = empty(204)
    return Reply(reply.status, reply.body, reply.headers, [cookies.clear_cookie()])


@routes.get("/api/v1/sessions", grant=PERSON)
def list_own_sessions(request: Request) -> Reply:
    """Return the sessions of the signed-in user, the last used first."""
    current = request.user.session_id
    return ok([session_view(each, current=current) for each in sessions.of_user(_me(request))])


@routes.delete("/api/v1/sessions/{session_id}", grant=PERSON)
def end_own_session(request: Request, session_id: str) -> Reply:
    """End a session of the signed-in user."""
    user_id = request.user.user_id
    if not sessions.end(user_id, session_id, audit.line(user_id, None, None)):
        raise NotFound
    return empty(204)


def _me(request: Request) -> User:
    user = users.get(request.user.user_id)
    if user is None:  # removed a moment ago, and still in the cache
        raise Unauthorized
    return user


def _check_old_password(request: Request, user: User, old_password: str) -> None:
    """Raise 403 for a wrong password, and 429 while guessing it is delayed."""
    device = devices.device_of(request, user)
    attempt = throttle.begin(request.source_ip, user.email, device)
    if not passwords.is_right(old_password, user.password):
        raise Forbidden("the old password is wrong")
    throttle.succeed(attempt)


def _change(user: User, session: Session, name: str | None, password: str | None) -> User:
    password_hash = None if password is None else passwords.hash_of(password)

    def edit(present: User) -> User:
        sessions.check_stamp(session, present)
        after = present if name is None else replace(present, name=name)
        if password_hash is None:
            return after
        if present.password != user.password:  # another request was first
            raise Forbidden("the password was changed meanwhile")
        # A link that was mailed before may be in the hands that the new password is against
        return replace(after, password=password_hash, reset=None, stamp=draw_secret())

    changed = users.change(user.id, edit)
    if changed is None:
        raise Unauthorized
    return changed
