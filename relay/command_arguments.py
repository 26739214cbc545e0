"""Parse the arguments of MAIL and RCPT: a path in angle brackets, then parameters.

Grammar of RFC 5321 4.1.2 and RFC 6531 3.3 (characters outside ASCII), without source routes.
Blanks after the colon are accepted, because many clients send them; a missing bracket is not.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from relay import notifications, replies
from relay.errors import SmtpRefusal

# The sets are those of what is excluded: one with a range beyond ASCII takes 10 ms to compile
_ATOM = r'[^\x00-\x20"(),.:;<>@\[\\\]\x7f]+'
_QUOTED = r'"(?:[^"\\\x00-\x1f\x7f]|\\[\x20-\x7e])*"'
_LABEL = r"[^\x00-/:-@\[-^`{-\x7f][^\x00-,./:-@\[-^`{-\x7f]*"
_DOMAIN = rf"(?:{_LABEL}(?:\.{_LABEL})*|\[[A-Za-z0-9.:-]+\])"
_MAILBOX = re.compile(rf"(?:{_ATOM}(?:\.{_ATOM})*|{_QUOTED})@{_DOMAIN}")
# A quoted local part may hold a closing bracket.
_PATH = re.compile(r'<((?:"(?:[^"\\]|\\.)*"|[^<>"])*)>')
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]")
# RFC 5321 4.5.3.1.3: a path is 256 octets, its brackets counted.
_MAX_MAILBOX = 254
_MAX_SIZE_DIGITS = 20
_SIZE = re.compile(rf"(?:^| )SIZE=([0-9]{{1,{_MAX_SIZE_DIGITS}}})(?: |$)", re.IGNORECASE | re.ASCII)
_CHUNK = re.compile(rf"([0-9]{{1,{_MAX_SIZE_DIGITS}}})( +LAST)?", re.IGNORECASE | re.ASCII)


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


def parse_mail(argument: str, *, lenient: bool = False, notices: bool = False) -> MailCommand:
    """Read `FROM:<path> [SIZE=n] [BODY=7BIT|8BITMIME] [SMTPUTF8] [AUTH=mailbox]`.

    If it is `lenient`, any text is an address, the command means SMTPUTF8 in any case, and of the
    parameters only SIZE is read.
    AUTH (RFC 4954 5) is accepted and ignored, and with `notices` so are RET and ENVID (RFC 3461 4.3
    and 4.4), if they are well formed. Raises Refusal: 501, 553 or 555.
    """
    if lenient:
        mail_from, rest = _any_path(argument, "FROM:", replies.MAIL_SYNTAX)
        return MailCommand(mail_from, _any_size(rest), smtp_utf8=True)
    mail_from, rest = _path(argument, "FROM:", replies.MAIL_SYNTAX)
    size, smtp_utf8 = 0, False
    for parameter, name, value in _parameters(rest):
        if name == "SIZE":
            size = _size(value)
        elif notices and name in ("RET", "ENVID"):
            notifications.check_of_mail(name, value)
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


def parse_recipient(
    argument: str, smtp_utf8: bool, *, lenient: bool = False, notices: bool = False
) -> str:
    """Read `TO:<path> [NOTIFY=...] [ORCPT=...]`; `postmaster` needs no domain (RFC 5321 4.5.1).

    If it is `lenient`, any text is an address, and parameters have no effect.
    With `notices` these parameters (RFC 3461 4.1 and 4.2) are ignored, if they are well formed;
    without, there may be none. Raises Refusal: 501, 553 or 555.
    """
    if lenient:
        recipient, _ = _any_path(argument, "TO:", replies.RCPT_SYNTAX)
        if not recipient:
            raise SmtpRefusal(replies.RCPT_SYNTAX)
        return recipient
    recipient, rest = _path(argument, "TO:", replies.RCPT_SYNTAX)
    for _, name, value in _parameters(rest):
        if not notices or name not in ("NOTIFY", "ORCPT"):
            raise SmtpRefusal(replies.UNKNOWN_PARAMETER)
        notifications.check_of_recipient(name, value)
    if recipient.lower() != "postmaster":
        _check_mailbox(recipient, smtp_utf8)
    return recipient


def parse_chunk(argument: str) -> tuple[int, bool]:
    """Read `size [LAST]` of BDAT (RFC 3030 2): octets, and whether the message ends with them.

    Raises Refusal (501).
    """
    match = _CHUNK.fullmatch(argument)
    if match is None:
        raise SmtpRefusal(replies.CHUNK_SYNTAX)
    return int(match[1]), match[2] is not None


def _parameters(text: str) -> Sequence[tuple[str, str, str]]:
    """Return parameters, each with its name in capitals and its value; none may come twice."""
    parameters = []
    for parameter in text.split():
        name, _, value = parameter.partition("=")
        parameters.append((parameter, name.upper(), value))
    if len({name for _, name, _ in parameters}) < len(parameters):
        raise SmtpRefusal(replies.BAD_PARAMETER)
    return parameters


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


def _any_path(argument: str, keyword: str, syntax: replies.Reply) -> tuple[str, str]:
    """Return what is in angle brackets, or the first word without them; and the parameters."""
    if argument[: len(keyword)].upper() != keyword:
        raise SmtpRefusal(syntax)
    text = argument[len(keyword) :].lstrip(" ")
    if match := _PATH.match(text):
        address, rest = match[1], text[match.end() :]
    else:
        address, _, rest = text.partition(" ")
        address = address.strip("<>")
    if _CONTROLS.search(address):
        raise SmtpRefusal(replies.BAD_ADDRESS)
    return address.strip(), rest


def _any_size(parameters: str) -> int:
    """Return the declared size, 0 if there is none or it is no number."""
    match = _SIZE.search(parameters)
    return int(match[1]) if match else 0


def _check_mailbox(address: str, smtp_utf8: bool) -> None:
    if not is_mailbox(address):
        raise SmtpRefusal(replies.BAD_ADDRESS)
    if not smtp_utf8 and not address.isascii():
        raise SmtpRefusal(replies.UTF8_NOT_DECLARED)


def _size(value: str) -> int:
    if not value.isascii() or not value.isdigit() or len(value) > _MAX_SIZE_DIGITS:
        raise SmtpRefusal(replies.BAD_PARAMETER)
    return int(value)
