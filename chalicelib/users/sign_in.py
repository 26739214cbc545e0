"""Sign a user in: check the password and begin a session.

Whatever is wrong with an address and its password gets one refusal (:func:`wrong_pair`), after
equal work, so that no answer tells which addresses have a user.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from chalicelib.accounts.store import accounts
from chalicelib.core import audit, clock
from chalicelib.core.errors import ApiError, Unauthorized, code_required, must_enrol
from chalicelib.core.reply import Reply, ok
from chalicelib.core.request import Actor, Request
from chalicelib.core.scope import SYSTEM_ACCOUNT
from chalicelib.users import cookies, devices, passwords, throttle
from chalicelib.users.model import ACTIVE, User
from chalicelib.users.second_factor import use_code
from chalicelib.users.store import sessions, users

RESOURCE: Final = "sign-in"
PASSWORD: Final = "password"


def with_password(request: Request, email: str, password: str, code: str | None) -> Reply:
    """Sign in with an address, a password and, where the user has a second factor, a code.

    Raises 401 if they do not belong together, 403 ``2fa_required`` if only the code is missing, and
    429 while guessing is delayed.
    """
    user = users.by_address(email)
    device = devices.device_of(request, user)
    attempt = throttle.begin(request.source_ip, email, device)
    if not _knows_password(user, password):
        raise _refused(request, user)
    assert user is not None
    if user.tfa_enabled and code is not None:
        guess = throttle.begin_code(user.id, device, attempt)
        if not use_code(user, code):
            raise _refused(request, user)
        throttle.succeed(guess)
    throttle.succeed(attempt)
    if user.tfa_enabled and code is None:
        raise _code_required(user)
    if passwords.is_outdated(user.password):
        _hash_anew(user, password)
    return begin_session(request, user, method=PASSWORD, second_factor=user.tfa_enabled)


def begin_session(
    request: Request, user: User, *, method: str, second_factor: bool, path: str = ""
) -> Reply:
    """Begin a session of a user who proved who they are; return the reply with its cookie.

    ``method`` is how: ``password``, ``passkey`` or the name of a provider. ``second_factor`` tells
    whether the user has shown one. Without it, where the user has one or the account asks for it,
    the reply is 403 ``2fa_setup_required``, and the session may show or set up one and nothing
    else. ``path`` is for the audit log, where the path of the request holds a secret.

    The secret is always a new one, and the session of a cookie that came with the request ends.
    Raises 401 if the user was disabled or removed meanwhile, or has a new password or role.
    """
    end_presented(request)
    signed_in = users.mark_sign_in(user, clock.now())
    if signed_in is None or signed_in.status != ACTIVE:
        raise wrong_pair()
    secret, session_id = sessions.begin(
        signed_in,
        method=method,
        second_factor=second_factor,
        ip=request.source_ip,
        agent=request.headers.get("user-agent", ""),
        lines=audit.line(
            user.id,
            None,
            {"method": method, "second_factor": second_factor},
            of=author_of(user, request, path=path),
        ),
    )
    results = {"csrf_token": cookies.csrf_token(session_id)}
    set_cookies = [cookies.set_cookie(signed_in, secret)]
    needs_factor = signed_in.tfa_enabled or accounts.get_cached(user.account_id).tfa_required
    if needs_factor and not second_factor:
        # No device yet: each has guesses of its own, also of the factor that is still to be shown
        refusal = must_enrol()
        body = refusal.body() | {"results": results}
        return Reply(refusal.status, body, refusal.headers, set_cookies)
    reply = ok(results)
    set_cookies.append(devices.set_cookie(request, signed_in))
    return Reply(reply.status, reply.body, reply.headers, set_cookies)


def end_presented(request: Request) -> None:
    """End the session of the cookie that came with a request, whose user may be another one."""
    presented = cookies.read_cookie(request.cookie(cookies.session_cookie().name))
    if presented:
        sessions.end(presented.user_id, presented.session_id)


def author_of(
    user: User, request: Request, resource: str = RESOURCE, *, path: str = ""
) -> audit.Author:
    """Return the user as the author of what a request without a session does.

    ``path`` is needed where the path of the request holds a secret.
    """
    return audit.Author(
        user.account_id,
        Actor("user", user.id, ""),
        request.method,
        path or request.path,
        resource,
        request.source_ip,
        request.request_id,
        user.subaccount_id,
    )


def _knows_password(user: User | None, password: str) -> bool:
    """Check a password; it takes as long for an address without a user."""
    is_right = passwords.is_right(password, user.password if user else "")
    return is_right and user is not None and user.status == ACTIVE


def _refused(request: Request, user: User | None) -> Unauthorized:
    """Write the refusal to the audit log, and return it.

    For an address without a user, the line is one of the service itself: the work is the same.
    """
    if user is None:
        author = audit.Author(
            SYSTEM_ACCOUNT,
            Actor("user", "", ""),
            request.method,
            request.path,
            RESOURCE,
            request.source_ip,
            request.request_id,
        )
    else:
        author = author_of(user, request)
    audit.note(user.id if user else "", of=author, outcome=audit.REFUSED)
    return wrong_pair()


def _code_required(user: User) -> ApiError:
    methods = {"totp": bool(user.totp), "passkey": bool(user.passkeys)}
    return code_required([name for name, has_one in methods.items() if has_one])


def _hash_anew(user: User, password: str) -> None:
    new_hash = passwords.hash_of(password)

    def edit(present: User) -> User:
        unchanged = present.password == user.password
        return replace(present, password=new_hash) if unchanged else present

    users.change(user.id, edit, silent=True)


def wrong_pair() -> Unauthorized:
    """Return the one refusal of every address and password that do not belong together."""
    return Unauthorized("the email address, the password or the code is wrong")
