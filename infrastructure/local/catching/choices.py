"""Read what the user chose about mail that is caught.

==================== ======= =======================================================================
CATCH                store   ``store`` keeps it in the mailbox; ``send`` sends it as if with a key
CATCH_INBOX                  what divides the mailbox into inboxes: ``login``, ``recipient-domain``
                             or ``tag`` (of the recipient); nothing: there is one
CATCH_PASSWORDS              a file with logins, one of which is then needed: lines of ``htpasswd``,
                             or ``name:password``; without it any login is taken, and none needed
CATCH_RECIPIENTS             the recipients that are taken, others are refused: addresses and
                             patterns such as ``*@example.com``, comma-separated, or one
                             ``/regular expression/``; nothing: all
CATCH_TLS                    ``optional``: clients may use STARTTLS; ``starttls``: they must;
                             ``implicit``: TLS from the first byte on; nothing: it is not offered
MAILBOX_MAX_MESSAGES 0       the newest messages of an inbox that are kept; 0: any number
MAILBOX_MAX_AGE              how long a message is kept, such as ``7d`` or ``12h``; nothing: always
==================== ======= =======================================================================
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from infrastructure.local.mailbox.inboxes import BY_DOMAIN, BY_LOGIN, BY_TAG
from infrastructure.local.passwords import Passwords

if TYPE_CHECKING:
    from infrastructure.local.releasing.recipients import AllowedRecipients

STORE, SEND = "store", "send"
OPTIONAL, STARTTLS, IMPLICIT = "optional", "starttls", "implicit"

_WAYS = (STORE, SEND)
_TLS = ("", OPTIONAL, STARTTLS, IMPLICIT)
_DIVISIONS = ("", BY_LOGIN, BY_DOMAIN, BY_TAG)
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_AGE = re.compile(r"([0-9]{1,9})([smhdw])", re.ASCII)


@dataclass(frozen=True, slots=True)
class CatchChoices:
    """The choices; ``max_age`` is in seconds, 0 for any age."""

    way: str = STORE
    inbox_by: str = ""
    passwords: Passwords | None = None
    recipients: AllowedRecipients | None = None
    tls: str = ""
    max_messages: int = 0
    max_age: float = 0.0

    @classmethod
    def read(cls, environ: Mapping[str, str]) -> CatchChoices:
        """Return the choices of an environment; raises ValueError with one line for the user."""
        return cls(
            way=_one_of(environ, "CATCH", _WAYS) or STORE,
            inbox_by=_one_of(environ, "CATCH_INBOX", _DIVISIONS),
            passwords=Passwords.of_setting(environ, "CATCH_PASSWORDS"),
            recipients=_recipients(environ, "CATCH_RECIPIENTS"),
            tls=_one_of(environ, "CATCH_TLS", _TLS),
            max_messages=_number(environ, "MAILBOX_MAX_MESSAGES"),
            max_age=_age(environ, "MAILBOX_MAX_AGE"),
        )


def _one_of(environ: Mapping[str, str], name: str, choices: tuple[str, ...]) -> str:
    text = environ.get(name, "")
    if text and text not in choices:
        raise ValueError(f"{name}={text!r} is none of {', '.join(filter(None, choices))}")
    return text


def _recipients(environ: Mapping[str, str], name: str) -> AllowedRecipients | None:
    text = environ.get(name, "").strip()
    if not text:
        return None
    # Imported here: without a list no start needs it
    from infrastructure.local.releasing.recipients import AllowedRecipients

    try:
        return AllowedRecipients.read(text)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def _number(environ: Mapping[str, str], name: str) -> int:
    text = environ.get(name) or "0"
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise ValueError(f"{name}={text!r} is not a whole number")
    return int(text)


def _age(environ: Mapping[str, str], name: str) -> float:
    text = environ.get(name, "")
    if not text or text == "0":
        return 0.0
    match = _AGE.fullmatch(text)
    if match is None:
        raise ValueError(f"{name}={text!r} is not a time such as 7d, 12h or 30m")
    return float(int(match[1]) * _UNITS[match[2]])
