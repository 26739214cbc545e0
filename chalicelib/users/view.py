"""Show users and their sessions as the API does."""

from __future__ import annotations

from typing import Any

from chalicelib.accounts.model import Account
from chalicelib.core import clock
from chalicelib.core.request import SignedIn
from chalicelib.users import cookies
from chalicelib.users.model import User
from chalicelib.users.roles import CUSTOM
from chalicelib.users.store.sessions import Session


def user_view(user: User) -> dict[str, Any]:
    """Return a user; ``grants`` are those of the role ``custom``, or else what the role allows."""
    grants = user.grants if user.role == CUSTOM else user.all_grants()
    return {
        "id": user.id,
        "email": user.email,
        "name": user.name,
        "role": user.role,
        "status": user.status,
        "subaccount_id": user.subaccount_id,
        "grants": sorted(grants),
        "tfa_enabled": user.tfa_enabled,
        "last_sign_in": _moment(user.last_sign_in),
        "created": _moment(user.created),
    }


def own_view(user: User, account: Account, signed_in: SignedIn) -> dict[str, Any]:
    """Return the signed-in user, the account and the token of the session's changes."""
    return user_view(user) | {
        "grants": sorted(user.all_grants()),
        "has_password": bool(user.password),
        "csrf_token": cookies.csrf_token(signed_in.session_id),
        "session_id": signed_in.session_id,
        "account": {
            "customer_id": account.customer_id,
            "company_name": account.company_name,
            "tfa_required": account.tfa_required,
        },
    }


def session_view(session: Session, *, current: str = "") -> dict[str, Any]:
    """Return a session; ``current`` is the id of the session that asks."""
    return {
        "id": session.id,
        "created": _moment(session.created),
        "last_used": _moment(session.used),
        "expires": _moment(session.expires),
        "ip": session.ip,
        "user_agent": session.agent,
        "method": session.method,
        "second_factor": session.second_factor,
        "current": session.id == current,
    }


def _moment(seconds: float | None) -> str | None:
    return None if seconds is None else clock.iso_ms(int(seconds * 1000))
