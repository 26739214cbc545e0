"""Read the username and the responses of AUTH (spec 5, rule 7; RFC 4954; RFC 4616).

The username only says for whom mail is sent; the password is an API key:

    SMTP_Injection                          the account of the key
    SMTP_Injection:X-SVC-SUBACCOUNT=<id>    one subaccount, with the primary account's key

Other spellings of the header are in SUBACCOUNT_HEADERS. Id 0 is the primary account, as in HTTP
(spec 5, rule 6). A subaccount's key may name its own subaccount only.
"""

from __future__ import annotations

import binascii
from base64 import b64decode
from dataclasses import dataclass, field

from relay import replies
from relay.errors import LoginRefused, SmtpRefusal

USERNAME = "SMTP_Injection"
SUBACCOUNT_HEADERS = ("X-SVC-SUBACCOUNT", "X-MSYS-SUBACCOUNT")
# A JSON number of the service is bounded to 32 bits (spec 1, convention 6).
_MAX_ID = 2**31 - 1
_MAX_ID_DIGITS = 10


@dataclass(frozen=True, slots=True)
class Login:
    """The login that a client sent."""

    username: str
    password: str = field(repr=False)


def decode_response(encoded: str) -> bytes:
    """Decode a client's base64 response; `=` is an empty one, `*` cancels (RFC 4954 4)."""
    if encoded == "*":
        raise SmtpRefusal(replies.LOGIN_ABORTED)
    if encoded == "=":
        return b""
    try:
        return b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        raise SmtpRefusal(replies.LOGIN_NOT_BASE64) from None


def login_of_plain(response: bytes) -> Login:
    """Return the login of a PLAIN response: identity, NUL, username, NUL, password."""
    parts = response.split(b"\0")
    if len(parts) != 3:
        raise LoginRefused
    return login_of(parts[1], parts[2])


def login_of(username: bytes, password: bytes) -> Login:
    """Return the login of a username and a password; raises LoginRefused if one is not UTF-8."""
    try:
        return Login(username.decode(), password.decode())
    except UnicodeDecodeError:
        raise LoginRefused from None


def subaccount_of(username: str) -> int | None:
    """Return the subaccount that a username names, None for the account of the key.

    Raises LoginRefused for another username.
    """
    name, colon, assignment = username.partition(":")
    if name != USERNAME:
        raise LoginRefused
    if not colon:
        return None
    header, _, value = assignment.partition("=")
    if header.upper() not in SUBACCOUNT_HEADERS:
        raise LoginRefused
    return _id_of(value)


def _id_of(value: str) -> int:
    if not value.isascii() or not value.isdigit() or len(value) > _MAX_ID_DIGITS:
        raise LoginRefused
    if int(value) > _MAX_ID:
        raise LoginRefused
    return int(value)
