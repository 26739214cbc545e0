"""Reset a password by a mailed link that works once.

A request for the mail only puts its address on a queue, whether or not it belongs to a user. The
worker looks for the user, so neither the answer nor its time tells.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any, Final

from chalicelib.core import audit, queues, system_mailer
from chalicelib.core.queues import Received, Work
from chalicelib.core.request import Request
from chalicelib.core.settings import settings
from chalicelib.core.typed_dicts import TypedDict
from chalicelib.users import mailed_links, passwords, sign_in
from chalicelib.users.model import ACTIVE, User, draw_secret
from chalicelib.users.store import attempts, users

KIND: Final = "password-reset"
PATH: Final = "/api/v1/password-reset/{token}"
#: Mails to one user
MOST_MAILS: Final = 3
SECONDS: Final = 3600.0

_QUEUE = "small-sends"
_log = logging.getLogger(__name__)


class ResetHead(TypedDict):
    """The head of a message that asks for a mail to an address."""

    kind: str
    email: str


def ask(email: str) -> None:
    """Queue the request for a mail to an address."""
    head: ResetHead = {"kind": KIND, "email": email}
    queues.send(_QUEUE, [Work(head)])


def send_mail(message: Received[Any]) -> None:
    """Mail a new link to the active user of an address; the former one stops working.

    A user gets at most ``MOST_MAILS`` in an hour.
    """
    email = message.head["email"]
    user = users.by_address(email)
    if user is None or user.status != ACTIVE:
        return
    if not attempts.take_reset(user.id, most=MOST_MAILS, seconds=SECONDS):
        _log.info("user %s had its mails to reset the password", user.id)
        return
    token, link = mailed_links.draw(user.id, settings().reset_lifetime)
    if users.change(user.id, lambda present: replace(present, reset=link), silent=True) is None:
        return
    minutes = max(1, settings().reset_lifetime // 60)
    url = mailed_links.url_of(mailed_links.RESET, token)
    system_mailer.send(
        to=user.email,
        subject="Reset your password",
        text=_TEXT.format(link=url, minutes=minutes),
        failure="the mail to reset a password could not be sent",
    )


def find(token: str) -> User:
    """Return the user whose password a link resets; raises 404."""
    user = users.get(mailed_links.user_of(token))
    if user is None:
        raise mailed_links.not_found()
    _check(user, token)
    return user


def redeem(request: Request, user: User, token: str, password: str) -> None:
    """Use up the link and change the password; all sessions of the user end.

    Raises 404 if the link was used meanwhile.
    """
    password_hash = passwords.hash_of(password)

    def edit(present: User) -> User:
        _check(present, token)
        return replace(present, password=password_hash, reset=None, stamp=draw_secret())

    with audit.bound(sign_in.author_of(user, request, KIND, path=PATH)):
        if users.change(user.id, edit) is None:
            raise mailed_links.not_found()


def _check(user: User, token: str) -> None:
    mailed_links.check(user.reset if user.status == ACTIVE else None, token)


_TEXT = """\
Someone asked for a new password for your user, who signs in with this address.

If this was you, open this page and choose one:

{link}

The link works once, and for {minutes} minutes. If this was not you, ignore this email:
your password stays as it is.
"""
