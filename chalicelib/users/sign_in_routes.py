"""Serve ``/sign-in``, ``/invitations`` and ``/password-reset``: what needs no session yet."""

from __future__ import annotations

from chalicelib.accounts.store import accounts
from chalicelib.core import addresses
from chalicelib.core.http import PUBLIC, Reply, Request, Routes, ok
from chalicelib.core.params import Params
from chalicelib.users import invitations, password_reset, passwords, sign_in, throttle
from chalicelib.users.model import User
from chalicelib.users.request import MOST_NAME

routes = Routes(__name__)

MOST_CODE = 40
#: What every request for a mail is answered, whether or not the address has a user
RESET_MESSAGE = "if the address belongs to an active user, a link to reset the password is mailed"


@routes.post("/api/v1/sign-in", grant=PUBLIC)
def sign_in_by_password(request: Request) -> Reply:
    """Sign in with an address, a password and, with a second factor, a code."""
    params = Params(request.json())
    email = params.text("email", most=addresses.LONGEST, required=True)
    password = params.text("password", most=passwords.LONGEST, required=True)
    code = params.text("code", most=MOST_CODE)
    params.check()
    return sign_in.with_password(request, email or "", password or "", code)


@routes.get("/api/v1/invitations/{token}", grant=PUBLIC)
def show_invitation(request: Request, token: str) -> Reply:
    """Return whom an invitation invites, and to which company."""
    user = invitations.find(token)
    return ok(
        {
            "email": user.email,
            "name": user.name,
            "role": user.role,
            "company_name": _company_name(user),
        }
    )


@routes.post("/api/v1/invitations/{token}", grant=PUBLIC)
def accept_invitation(request: Request, token: str) -> Reply:
    """Accept an invitation with a password and a name, and sign in."""
    user = invitations.find(token)
    params = Params(request.json())
    name = params.text("name", most=MOST_NAME, blank=True) or ""
    password = passwords.read_new(
        params, "password", email=user.email, company_name=_company_name(user)
    )
    params.check()
    accepted = invitations.accept(request, user, token, password=password or "", name=name)
    return sign_in.begin_session(
        request, accepted, method=sign_in.PASSWORD, second_factor=False, path=invitations.PATH
    )


@routes.post("/api/v1/password-reset", grant=PUBLIC)
def ask_for_password_reset(request: Request) -> Reply:
    """Mail a link to reset the password, if the address belongs to an active user."""
    params = Params(request.json())
    email = params.text("email", most=addresses.LONGEST, required=True)
    if email is not None and not addresses.is_address(email):
        params.refuse("email", "email must be an email address", email)
    params.check()
    throttle.count_reset(request.source_ip)
    password_reset.ask(email or "")
    return ok({"message": RESET_MESSAGE})


@routes.post("/api/v1/password-reset/{token}", grant=PUBLIC)
def reset_password(request: Request, token: str) -> Reply:
    """Choose a new password by the link that was mailed; all sessions end."""
    user = password_reset.find(token)
    params = Params(request.json())
    password = passwords.read_new(
        params, "password", email=user.email, company_name=_company_name(user)
    )
    params.check()
    password_reset.redeem(request, user, token, password or "")
    return ok({"message": "the password has been changed"})


def _company_name(user: User) -> str:
    return accounts.get_cached(user.account_id).company_name
