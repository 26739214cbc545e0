"""Parse the arguments of MAIL and RCPT: a path in angle brackets, then parameters.

Grammar of RFC 5321 4.1.2 and RFC 6531 3.3 (characters outside ASCII), without source routes.
Blanks after the colon are accepted, because many clients send them; a missing bracket is not.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from relay import replies
from relay.errors import SmtpRefusal

_ATOM = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~\u0080-\U0010ffff-]+"
_QUOTED = r'"(?:[^"\\\x00-\x1f\x7f]|\\[\x20-\x7e])*"'
_LABEL = r"[A-Za-z0-9_\u0080-\U0010ffff](?:[A-Za-z0-9_\u0080-\U0010ffff-]*)"
_DOMAIN = rf"(?:{_LABEL}(?:\.{_LABEL})*|\[[A-Za-z0-9.:-]+\])"
_MAILBOX = re.compile(rf"(?:{_ATOM}(?:\.{_ATOM})*|{_QUOTED})@{_DOMAIN}")
# A quoted local part may hold a closing bracket.
_PATH = re.compile(r'<((?:"(?:[^"\\]|\\.)*"|[^<>"])*)>')
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]")
# RFC 5321 4.5.3.1.3: a path is 256 octets, its brackets counted.
_MAX_MAILBOX = 254
_MAX_SIZE_DIGITS = 20


@dataclass(frozen=True, slots=True)
class MailCommand:
    """The argument of MAIL; `size` is the declared size, or 0 without one."""

    mail_from: str
    size: int
    smtp_utf8: bool


def is_mailbox(address: str) -> bool:
    """Tell whether `address` is a local part, an at-sign and a domain of permitted lengths."""
    return (
        len(address.encode("utf-8", "surrogatepass")) <= _MAX_MAILBOX
        and _MAILBOX.fullmatch(address) is not None
        and _CONTROLS.search(address) is None
    )


def parse_mail(argument: str) -> MailCommand:
    """Read `FROM:<path> [SIZE=n] [BODY=7BIT|8BITMIME] [SMTPUTF8] [AUTH=mailbox]`.

    AUTH (RFC 4954 5) is accepted and ignored. Raises Refusal: 501, 553 or 555.
    """
    mail_from, rest = _path(argument, "FROM:", replies.MAIL_SYNTAX)
    size, smtp_utf8 = 0, False
    names: set[str] = set()
    for parameter in rest.split():
        name, _, value = parameter.partition("=")
        name = name.upper()
        if name in names:
            raise SmtpRefusal(replies.BAD_PARAMETER)
        names.add(name)
        if name == "SIZE":
            size = _size(value)
        elif name == "BODY":
            if value.upper() not in ("7BIT", "8BITMIME"):
                raise SmtpRefusal(replies.BAD_PARAMETER)
        elif name == "SMTPUTF8":
            if "=" in parameter:
                raise SmtpRefusal(replies.BAD_PARAMETER)
            smtp_utf8 = True
        elif name != "AUTH" or not value:
            raise SmtpRefusal(replies.UNKNOWN_PARAMETER)
    if mail_from:
        _check_mailbox(mail_from, smtp_utf8)
    return MailCommand(mail_from, size, smtp_utf8)


def parse_recipient(argument: str, smtp_utf8: bool) -> str:
    """Read `TO:<path>`; `postmaster` needs no domain (RFC 5321 4.5.1).

    Raises Refusal: 501, 553, or 555 for any parameter.
    """
    recipient, rest = _path(argument, "TO:", replies.RCPT_SYNTAX)
    if rest:
        raise SmtpRefusal(replies.UNKNOWN_PARAMETER)
    if recipient.lower() != "postmaster":
        _check_mailbox(recipient, smtp_utf8)
    return recipient


def _path(argument: str, keyword: str, syntax: replies.Reply) -> tuple[str, str]:
    if argument[: len(keyword)].upper() != keyword:
        raise SmtpRefusal(syntax)
    text = argument[len(keyword) :].lstrip(" ")
    match = _PATH.match(text)
    if match is None:
        raise SmtpRefusal(syntax)
    rest = text[match.end() :]
    if rest and not rest.startswith(" "):
        raise SmtpRefusal(syntax)
    return match[1], rest.strip(" ")


def _check_mailbox(address: str, smtp_utf8: bool) -> None:
    if not is_mailbox(address):
        raise SmtpRefusal(replies.BAD_ADDRESS)
    if not smtp_utf8 and not address.isascii():
        raise SmtpRefusal(replies.UTF8_NOT_DECLARED)


def _size(value: str) -> int:
    if not value.isascii() or not value.isdigit() or len(value) > _MAX_SIZE_DIGITS:
        raise SmtpRefusal(replies.BAD_PARAMETER)
    return int(value)
