"""Set up, use and remove a user's second factor: an authenticator, passkeys and recovery codes.

A code is good once: the time step of an authenticator's code, or the removal of a recovery code, is
written under the condition that nobody else used it meanwhile.

Who has a factor already may change factors only in a session that has shown one. Recovery codes are
drawn with the first factor, and go with the last.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from chalicelib.accounts.model import Account
from chalicelib.core import audit
from chalicelib.core.errors import (
    ApiError,
    Forbidden,
    NotFound,
    Unauthorized,
    bad_request,
    conflict,
)
from chalicelib.users import passkeys, qr_code, recovery_codes, totp
from chalicelib.users.model import User, draw_secret
from chalicelib.users.store import sessions, users
from chalicelib.users.store.sessions import Session

ISSUER = "Postfinch"


class _Refused(Exception):
    """The code is wrong, or it was used already."""


def use_code(user: User, code: str) -> bool:
    """Use a code of the user's authenticator or a recovery code; return ``False`` if it is wrong.

    A code that was used before is wrong. Of two simultaneous uses, one succeeds.
    """

    def use(present: User) -> User:
        step = totp.matching_step(present.totp, present.id, code, after=present.totp_step)
        if step is not None:
            return replace(present, totp_step=step)
        digest = recovery_codes.digest(present.id, code)
        if digest not in present.recovery:
            raise _Refused
        remaining = tuple(each for each in present.recovery if each != digest)
        return replace(present, recovery=remaining)

    try:
        return users.change(user.id, use, silent=True) is not None
    except _Refused:
        return False


def begin_totp(user: User, session: Session, account: Account) -> dict[str, Any]:
    """Draw a secret for an authenticator and return it; it counts once a code confirms it."""
    _check_shown(user, session)
    secret = totp.draw_secret()
    pending = totp.seal(secret, user.id)
    _change(session, lambda present: replace(present, totp_pending=pending), silent=True)
    uri = totp.uri(secret, issuer=account.company_name or ISSUER, label=user.email)
    return {"secret": totp.base32(secret), "uri": uri, "qr": qr_code.draw(uri)}


def begin_passkey(user: User, session: Session) -> dict[str, Any]:
    """Return what a browser needs to make a passkey."""
    _check_shown(user, session)
    return passkeys.creation_options(user)


def confirm_totp(user: User, session: Session, code: str) -> list[str]:
    """Make the authenticator that is being set up the user's, and return new recovery codes.

    There are none where the user had a factor already. Raises 400 for a wrong code.
    """
    _check_shown(user, session)

    def confirm(present: User) -> User:
        if not present.totp_pending:
            raise conflict(
                "no authenticator is being set up",
                description='begin with POST /second-factor {"type": "totp"}',
            )
        step = totp.matching_step(present.totp_pending, present.id, code)
        if step is None:
            raise wrong_code()
        return replace(present, totp=present.totp_pending, totp_pending=b"", totp_step=step)

    return _add(session, confirm)


def add_passkey(
    user: User, session: Session, credential: dict[str, Any], state: str, name: str
) -> list[str]:
    """Give the user the passkey that a browser made, and return new recovery codes.

    There are none where the user had a factor already. Raises 400 for a passkey that is not valid.
    """
    _check_shown(user, session)
    try:
        passkey = passkeys.read_new(user, credential, state, name)
    except passkeys.PasskeyRefused as error:
        raise bad_request(
            "the passkey is not valid", description=str(error), param="credential"
        ) from error

    def add(present: User) -> User:
        if any(each.id == passkey.id for each in present.passkeys):
            raise conflict("the user has this passkey already")
        if len(present.passkeys) >= passkeys.MOST_PASSKEYS:
            raise passkeys.too_many()
        return replace(present, passkeys=(*present.passkeys, passkey))

    return _add(session, add)


def show_code(user: User, session: Session, code: str) -> None:
    """Show the factor that the user has in a session that began without, by single sign-on.

    Either is in the audit log, as a sign-in is. Raises 400 for a wrong code.
    """
    author = audit.author()
    if not use_code(user, code):
        if author:
            audit.note(user.id, of=author, outcome=audit.REFUSED)
        raise wrong_code()
    sessions.show_second_factor(session, audit.line(user.id, None, {"second_factor": True}))


def renew_recovery_codes(user: User, session: Session) -> list[str]:
    """Draw new recovery codes, which replace all earlier ones."""
    _check_shown(user, session)
    codes = recovery_codes.draw()

    def renew(present: User) -> User:
        if not present.tfa_enabled:
            raise conflict("the user has no second factor")
        return replace(present, recovery=_digests(present, codes))

    _change(session, renew)
    return codes


def remove_all(user: User, session: Session, account: Account) -> None:
    """Remove all factors and recovery codes; raises 409 while the account asks for a factor."""
    _check_shown(user, session)
    _check_optional(account)
    after = _change(session, without_factors)
    sessions.restamp(session, after.stamp, second_factor=False)


def remove_totp(user: User, session: Session, account: Account) -> None:
    """Remove the authenticator; raises 409 for the last factor while the account asks for one."""

    def remove(present: User) -> User:
        if not present.totp:
            raise NotFound
        return replace(present, totp=b"", totp_step=0, totp_pending=b"")

    _remove(user, session, account, remove)


def remove_passkey(user: User, session: Session, account: Account, passkey_id: str) -> None:
    """Remove a passkey; raises 409 for the last factor while the account asks for one."""

    def remove(present: User) -> User:
        rest = tuple(each for each in present.passkeys if each.id != passkey_id)
        if len(rest) == len(present.passkeys):
            raise NotFound
        return replace(present, passkeys=rest)

    _remove(user, session, account, remove)


def without_factors(user: User) -> User:
    """Return the user without factors and recovery codes; all sessions end."""
    return replace(
        user,
        totp=b"",
        totp_step=0,
        totp_pending=b"",
        recovery=(),
        passkeys=(),
        stamp=draw_secret(),
    )


def must_show(user: User, session: Session) -> bool:
    """Tell whether the user has a factor that the session has not shown."""
    return user.tfa_enabled and not session.second_factor


def wrong_code() -> ApiError:
    """Return the refusal of a code."""
    return bad_request("the code is wrong", param="code")


def _add(session: Session, add: Callable[[User], User]) -> list[str]:
    """Give the user a factor, and with the first one recovery codes; return these."""
    codes: list[str] = []

    def with_codes(present: User) -> User:
        codes[:] = [] if present.tfa_enabled else recovery_codes.draw()
        after = add(present)
        return replace(after, recovery=_digests(present, codes)) if codes else after

    _change(session, with_codes)
    sessions.show_second_factor(session)
    return codes


def _remove(user: User, session: Session, account: Account, remove: Callable[[User], User]) -> None:
    """Remove one factor, with the last one the recovery codes; the other sessions end."""
    _check_shown(user, session)

    def with_codes(present: User) -> User:
        after = remove(present)
        if after.tfa_enabled:
            return replace(after, stamp=draw_secret())
        _check_optional(account)
        return without_factors(after)

    after = _change(session, with_codes)
    sessions.restamp(session, after.stamp, second_factor=after.tfa_enabled)


def _change(session: Session, edit: Callable[[User], User], *, silent: bool = False) -> User:
    """Change the user of a session, unless it has ended, or the user got a factor, meanwhile."""

    def edit_own(present: User) -> User:
        sessions.check_stamp(session, present)
        _check_shown(present, session)
        return edit(present)

    after = users.change(session.user_id, edit_own, silent=silent)
    if after is None:
        raise Unauthorized
    return after


def _check_shown(user: User, session: Session) -> None:
    if must_show(user, session):
        raise Forbidden(
            "show the second factor that you have first: PUT /second-factor with its code",
            code="2fa_required",
        )


def _check_optional(account: Account) -> None:
    if account.tfa_required:
        raise conflict(
            "the account asks for a second factor",
            description="add another factor before you remove the last one",
        )


def _digests(user: User, codes: list[str]) -> tuple[str, ...]:
    return tuple(recovery_codes.digest(user.id, code) for code in codes)
