"""Sign a user in: check the password and begin a session.

Whatever is wrong with an address and its password gets one refusal (:func:`wrong_pair`), after
equal work, so that no answer tells which addresses have a user.
"""

from __future__ import annotations

from typing import Final

from chalicelib.accounts.store import accounts
from chalicelib.core import audit, clock
from chalicelib.core.errors import Unauthorized, must_enrol
from chalicelib.core.reply import Reply, ok
from chalicelib.core.request import Actor, Request
from chalicelib.users import cookies
from chalicelib.users.model import ACTIVE, User
from chalicelib.users.store import sessions, users

RESOURCE: Final = "sign-in"


def begin_session(
    request: Request, user: User, *, method: str, second_factor: bool, path: str = ""
) -> Reply:
    """Begin a session of a user who proved who they are; return the reply with its cookie.

    ``method`` is how: ``password``, ``passkey`` or the name of a provider. A user who has a second
    factor must have shown it: ``second_factor`` tells so. ``path`` is for the
    audit log, where the path of the request holds a secret. Where the account asks for one, the reply
    to a user who has none is 403 ``2fa_setup_required``, and the session may set one up.

    The secret is always a new one, and the session of a cookie that came with the request ends.
    Raises 401 if the user was disabled or removed meanwhile.
    """
    end_presented(request)
    signed_in = users.mark_sign_in(user.id, clock.now())
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
    if accounts.get_cached(user.account_id).tfa_required and not second_factor:
        refusal = must_enrol()
        body = refusal.body() | {"results": results}
        return Reply(refusal.status, body, refusal.headers, set_cookies)
    reply = ok(results)
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


def wrong_pair() -> Unauthorized:
    """Return the one refusal of every address and password that do not belong together."""
    return Unauthorized("the email address, the password or the code is wrong")
