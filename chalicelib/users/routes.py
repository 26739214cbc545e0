"""Serve ``/users``: the users of an account, their invitations, factors and sessions.

Users belong to the account, and some of them to one of its subaccounts. With the subaccount header
a request is about the users of that subaccount only.
"""

from __future__ import annotations

from dataclasses import replace

from chalicelib.core import audit
from chalicelib.core.errors import NotFound
from chalicelib.core.http import Reply, Request, Routes, empty, ok
from chalicelib.users import invitations
from chalicelib.users.model import User, draw_secret
from chalicelib.users.request import apply_change, check_may_change, read_new
from chalicelib.users.second_factor import without_factors
from chalicelib.users.store import sessions, users
from chalicelib.users.view import session_view, user_view

routes = Routes(__name__)


@routes.get("/api/v1/users", grant="users/view")
def list_users(request: Request) -> Reply:
    """Return the users of the account, the oldest first."""
    return ok([user_view(user) for user in users.in_scope(request.caller.scope)])


@routes.post("/api/v1/users", grant="users/manage")
def invite_user(request: Request) -> Reply:
    """Invite a user by a link that is mailed to its address."""
    caller = request.caller
    new = read_new(caller, request.json())
    user, token = invitations.new_user(
        caller.account_id,
        new.email,
        new.role,
        name=new.name,
        subaccount_id=new.subaccount_id,
        grants=new.grants,
    )
    invitations.invite(user, token)
    return ok({"id": user.id, "status": user.status})


@routes.get("/api/v1/users/{user_id}", grant="users/view")
def show_user(request: Request, user_id: str) -> Reply:
    """Return one user."""
    return ok(user_view(_user(request, user_id)))


@routes.put("/api/v1/users/{user_id}", grant="users/manage")
def change_user(request: Request, user_id: str) -> Reply:
    """Change those of name, role, status, subaccount and grants that the body has.

    Sessions of the user end, unless only the name changes.
    """
    _user(request, user_id)
    body, caller = request.json(), request.caller
    changed = users.change(user_id, lambda user: apply_change(caller, body, user))
    if changed is None:
        raise NotFound
    return ok(user_view(changed))


@routes.delete("/api/v1/users/{user_id}", grant="users/manage")
def erase_user(request: Request, user_id: str) -> Reply:
    """Erase a user and end its sessions; the audit log keeps the id only."""
    user = _changeable(request, user_id)
    invitations.remove(user)
    return empty(204)


@routes.post("/api/v1/users/{user_id}/invitation", grant="users/manage")
def invite_user_again(request: Request, user_id: str) -> Reply:
    """Mail a new link to a user who is still invited; the former link stops working."""
    user = _changeable(request, user_id)
    invitations.invite_again(user)
    return ok({"id": user.id, "status": user.status})


@routes.delete("/api/v1/users/{user_id}/second-factor", grant="users/manage")
def reset_second_factor(request: Request, user_id: str) -> Reply:
    """Remove the second factor of a user who lost it, and end its sessions."""
    user = _changeable(request, user_id)
    users.change(user.id, without_factors)
    return empty(204)


@routes.get("/api/v1/users/{user_id}/sessions", grant="users/view")
def list_sessions(request: Request, user_id: str) -> Reply:
    """Return the sessions of a user, the last used first."""
    user = _user(request, user_id)
    own = request.caller.user
    current = own.session_id if own else ""
    return ok([session_view(each, current=current) for each in sessions.of_user(user)])


@routes.delete("/api/v1/users/{user_id}/sessions", grant="users/manage")
def end_sessions(request: Request, user_id: str) -> Reply:
    """End all sessions of a user."""
    user = _changeable(request, user_id)
    users.change(user.id, lambda present: replace(present, stamp=draw_secret()))
    return empty(204)


@routes.delete("/api/v1/users/{user_id}/sessions/{session_id}", grant="users/manage")
def end_session(request: Request, user_id: str, session_id: str) -> Reply:
    """End one session of a user."""
    user = _changeable(request, user_id)
    line = audit.line(user.id, None, None, subaccount_id=user.subaccount_id)
    if not sessions.end(user.id, session_id, line):
        raise NotFound
    return empty(204)


def _user(request: Request, user_id: str) -> User:
    user = users.find(request.caller.scope, user_id)
    if user is None:
        raise NotFound
    return user


def _changeable(request: Request, user_id: str) -> User:
    """Return a user whom the caller may change; raises 404, and 403 if the user may do more."""
    user = _user(request, user_id)
    check_may_change(request.caller, user)
    return user
