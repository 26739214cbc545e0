"""Serve ``/second-factor`` and the sign-in by passkey below ``/sign-in/passkey``."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from chalicelib.accounts.store import accounts
from chalicelib.core import audit, clock
from chalicelib.core.errors import Unauthorized
from chalicelib.core.http import ENROLLING, PERSON, PUBLIC, Reply, Request, Routes, empty, ok
from chalicelib.core.params import Params
from chalicelib.users import cookies, devices, passkeys, second_factor, throttle
from chalicelib.users.model import Passkey, User
from chalicelib.users.sign_in import author_of, begin_session, wrong_pair
from chalicelib.users.store import sessions, users
from chalicelib.users.store.sessions import Session

routes = Routes(__name__)
_log = logging.getLogger(__name__)

TYPES = ("totp", "passkey")
MOST_CODE = 40
MOST_STATE = 500


@routes.get("/api/v1/second-factor", grant=ENROLLING)
def show_second_factor(request: Request) -> Reply:
    """Return the factors of the signed-in user, and the token that changes need.

    A session that must set one up, as after single sign-on, gets the token nowhere else.
    """
    user, session = _signed_in(request)
    return ok(
        {
            "totp": bool(user.totp),
            "passkeys": [_passkey_view(each) for each in user.passkeys],
            "recovery_codes_left": len(user.recovery),
            "csrf_token": cookies.csrf_token(session.id),
        }
    )


@routes.post("/api/v1/second-factor", grant=ENROLLING)
def begin_second_factor(request: Request) -> Reply:
    """Begin to set up an authenticator or a passkey."""
    params = Params(request.json())
    kind = params.choice("type", TYPES)
    if kind is None:
        params.refuse("type", f"type must be one of: {', '.join(TYPES)}", None)
    params.check()
    user, session = _signed_in(request)
    if kind == "passkey":
        return ok(second_factor.begin_passkey(user, session))
    account = accounts.get_cached(user.account_id)
    return ok(second_factor.begin_totp(user, session, account))


@routes.put("/api/v1/second-factor", grant=ENROLLING)
def confirm_second_factor(request: Request) -> Reply:
    """Confirm an authenticator by a code, or store a passkey; the first factor gets its codes.

    In a session that began without the factor that the user has, a code of it shows it.
    """
    body = request.json()
    params = Params(body)
    user, session = _signed_in(request)
    if "credential" in body:
        state = params.text("state", most=MOST_STATE, required=True) or ""
        name = params.text("name", most=passkeys.MOST_NAME) or "Passkey"
        credential = _credential(params, body)
        params.check()
        codes = second_factor.add_passkey(user, session, credential, state, name)
        return ok({"recovery_codes": codes})
    code = params.text("code", most=MOST_CODE, required=True) or ""
    params.check()
    if second_factor.must_show(user, session):
        device = devices.device_of(request, user)
        attempt = throttle.begin(request.source_ip, user.email, device)
        guess = throttle.begin_code(user.id, device, attempt)
        second_factor.show_code(user, session, code)
        throttle.succeed(guess)
        throttle.succeed(attempt)
        return replace(ok({"recovery_codes": []}), cookies=[devices.set_cookie(request, user)])
    return ok({"recovery_codes": second_factor.confirm_totp(user, session, code)})


@routes.delete("/api/v1/second-factor", grant=PERSON)
def remove_second_factor(request: Request) -> Reply:
    """Remove all factors of the signed-in user; its other sessions end."""
    user, session = _signed_in(request)
    second_factor.remove_all(user, session, accounts.get_cached(user.account_id))
    return empty(204)


@routes.delete("/api/v1/second-factor/totp", grant=PERSON)
def remove_totp(request: Request) -> Reply:
    """Remove the authenticator of the signed-in user; its other sessions end."""
    user, session = _signed_in(request)
    second_factor.remove_totp(user, session, accounts.get_cached(user.account_id))
    return empty(204)


@routes.delete("/api/v1/second-factor/passkeys/{passkey_id}", grant=PERSON)
def remove_passkey(request: Request, passkey_id: str) -> Reply:
    """Remove a passkey of the signed-in user; its other sessions end."""
    user, session = _signed_in(request)
    account = accounts.get_cached(user.account_id)
    second_factor.remove_passkey(user, session, account, passkey_id)
    return empty(204)


@routes.post("/api/v1/second-factor/recovery-codes", grant=PERSON)
def renew_recovery_codes(request: Request) -> Reply:
    """Replace the recovery codes of the signed-in user and return the new ones, this once."""
    user, session = _signed_in(request)
    return ok({"recovery_codes": second_factor.renew_recovery_codes(user, session)})


@routes.post("/api/v1/sign-in/passkey/options", grant=PUBLIC)
def begin_passkey_sign_in(request: Request) -> Reply:
    """Return what a browser needs to sign in with a passkey."""
    return ok(passkeys.sign_in_options())


@routes.post("/api/v1/sign-in/passkey", grant=PUBLIC)
def sign_in_by_passkey(request: Request) -> Reply:
    """Sign in with the passkey that a browser answers with; it counts as both factors."""
    body = request.json()
    params = Params(body)
    state = params.text("state", most=MOST_STATE, required=True) or ""
    credential = _credential(params, body)
    params.check()
    try:
        user = passkeys.sign_in(credential, state)
    except passkeys.PasskeyRefused as error:
        _log.warning("a sign-in by passkey was refused: %s", error)
        if error.user:
            audit.note(error.user.id, of=author_of(error.user, request), outcome=audit.REFUSED)
        raise wrong_pair() from None
    return begin_session(request, user, method=passkeys.METHOD, second_factor=True)


def _signed_in(request: Request) -> tuple[User, Session]:
    """Return the user and the session of a request as they are now, not as they are cached."""
    user = users.get(request.user.user_id)
    session = sessions.get(request.user.user_id, request.user.session_id)
    if user is None or session is None:
        raise Unauthorized
    return user, session


def _credential(params: Params, body: Mapping[str, Any]) -> dict[str, Any]:
    credential = body.get("credential")
    if not isinstance(credential, dict):
        params.refuse("credential", "credential must be an object", None)
        return {}
    return credential


def _passkey_view(passkey: Passkey) -> dict[str, Any]:
    last_used = passkey.last_used
    return {
        "id": passkey.id,
        "name": passkey.name,
        "created": clock.iso_offset(passkey.created),
        "last_used": None if last_used is None else clock.iso_offset(last_used),
    }
