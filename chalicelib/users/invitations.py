"""Invite users by a mailed link that works once, and let them accept.

Whoever has the link chooses the password and the name. The address, the role and the account are
those of the invitation.
"""

from __future__ import annotations

from dataclasses import replace

from chalicelib.accounts.store import accounts
from chalicelib.api_keys import store as api_keys
from chalicelib.core import audit, clock, system_mailer
from chalicelib.core.errors import conflict
from chalicelib.core.request import Actor, Request
from chalicelib.core.settings import settings
from chalicelib.users import mailed_links, passwords, sign_in
from chalicelib.users.model import ACTIVE, INVITED, User, draw_id, draw_secret
from chalicelib.users.store import sessions, users

#: How many users an account may have
MOST_USERS = 1000
PATH = "/api/v1/invitations/{token}"


def new_user(
    account_id: int,
    email: str,
    role: str,
    *,
    name: str = "",
    subaccount_id: int | None = None,
    grants: tuple[str, ...] = (),
) -> tuple[User, str]:
    """Store an invited user; return it and the token of its link.

    Raises 409 if the address belongs to a user, or if the account has no room for another.
    """
    if users.count(account_id) >= MOST_USERS:
        raise conflict(
            "too many users", description=f"an account has at most {MOST_USERS} users", value=email
        )
    user_id = draw_id()
    token, link = mailed_links.draw(user_id, settings().invitation_lifetime)
    user = User(
        user_id,
        account_id,
        email,
        role,
        clock.now(),
        name=name,
        subaccount_id=subaccount_id,
        grants=grants,
        invitation=link,
        stamp=draw_secret(),
    )
    if not users.create(user):
        raise conflict(
            "the address is taken",
            description="the address belongs to a user already",
            param="email",
            value=email,
        )
    return user, token


def invite(user: User, token: str) -> None:
    """Mail the link of a new user; raises 400 if it cannot be sent, and the user is removed."""
    try:
        _mail(user, token)
    except Exception:
        remove(user)
        raise


def invite_again(user: User) -> None:
    """Mail a new link; the former one stops working.

    Raises 409 if the user has accepted, and 400 if the mail could not be sent.
    """
    token = renew(user)
    _mail(user, token)


def renew(user: User) -> str:
    """Draw a new link for an invited user and return its token; raises 409 for others."""
    token, link = mailed_links.draw(user.id, settings().invitation_lifetime)

    def edit(present: User) -> User:
        if present.status != INVITED:
            raise conflict(
                "the user is not invited",
                description="the user has accepted the invitation already",
            )
        return replace(present, invitation=link)

    if users.change(user.id, edit) is None:
        raise mailed_links.not_found()
    return token


def remove(user: User) -> None:
    """Erase a user, its address and its sessions; raises 409 for the last administrator.

    Where the address is stored beside the user's id, a pseudonym takes its place.
    """
    users.delete(user, users.line(user, None))
    sessions.erase(user.id)
    creator = Actor("user", user.id, users.pseudonym(user.id))
    api_keys.rename_creator(user.account_id, creator)


def find(token: str) -> User:
    """Return the user whom a link invites; raises 404."""
    user = users.get(mailed_links.user_of(token))
    if user is None:
        raise mailed_links.not_found()
    _check(user, token)
    return user


def accept(request: Request, user: User, token: str, *, password: str, name: str) -> User:
    """Use up the link: the user becomes active. Raises 404 if it was used meanwhile."""
    password_hash = passwords.hash_of(password)

    def edit(present: User) -> User:
        _check(present, token)
        return replace(
            present,
            name=name or present.name,
            status=ACTIVE,
            password=password_hash,
            invitation=None,
            stamp=draw_secret(),
        )

    author = sign_in.author_of(user, request, "invitations", path=PATH)
    with audit.bound(author):
        accepted = users.change(user.id, edit)
    if accepted is None:
        raise mailed_links.not_found()
    return accepted


def _check(user: User, token: str) -> None:
    mailed_links.check(user.invitation if user.status == INVITED else None, token)


def _mail(user: User, token: str) -> None:
    company = accounts.get_cached(user.account_id).company_name
    hours = max(1, settings().invitation_lifetime // 3600)
    link = mailed_links.url_of(mailed_links.INVITATION, token)
    system_mailer.send(
        to=user.email,
        subject=f"You are invited to send email for {company}",
        text=_TEXT.format(company=company, link=link, hours=hours),
        failure="the invitation could not be mailed",
    )


_TEXT = """\
{company} invites you to its account for sending email.

Open this page to choose a password and sign in:

{link}

The link works once, and for {hours} hours. If you did not expect this email, ignore it.
"""
