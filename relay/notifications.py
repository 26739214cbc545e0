"""Check the parameters by which a client asks for delivery status notifications (RFC 3461 4).

The relay does not offer the extension, so that a host that passes mail on tells its sender itself
that the message left for a place without notifications (RFC 3461 5.2.2). The parameters of clients
that send them all the same are checked and have no effect: a notice that a stranger may ask for is
one that anyone can have sent to anyone.
"""

from __future__ import annotations

import re

from relay import replies
from relay.errors import SmtpRefusal

# RFC 3461 4.1, 4.2 and 4.4 give the lengths.
_XTEXT = r"(?:[!-*,-<>-~]|\+[0-9A-F]{2})"
_ENVELOPE_ID = re.compile(rf"{_XTEXT}{{1,100}}")
# RFC 6533 3 adds utf-8, whose text may have characters beyond ASCII.
_ORIGINAL = re.compile(r"(?:rfc822|[A-Za-z0-9-]{1,60});(.{1,500})", re.IGNORECASE)
_XTEXT_ONLY = re.compile(rf"{_XTEXT}+")
_CONDITIONS = {"SUCCESS", "FAILURE", "DELAY"}


def check_of_mail(name: str, value: str) -> None:
    """Check RET or ENVID; raises SmtpRefusal (501)."""
    if name == "RET":
        _require(value.upper() in ("FULL", "HDRS"))
    else:
        _require(_ENVELOPE_ID.fullmatch(value) is not None)


def check_of_recipient(name: str, value: str) -> None:
    """Check NOTIFY or ORCPT; raises SmtpRefusal (501)."""
    if name == "NOTIFY":
        conditions = value.upper().split(",")
        _require(conditions == ["NEVER"] or set(conditions) <= _CONDITIONS)
        _require(len(set(conditions)) == len(conditions))
        return
    original = _ORIGINAL.fullmatch(value)
    _require(original is not None)
    is_utf8 = value[:6].lower() == "utf-8;"
    _require(is_utf8 or (original is not None and _XTEXT_ONLY.fullmatch(original[1]) is not None))


def _require(condition: bool) -> None:
    if not condition:
        raise SmtpRefusal(replies.BAD_PARAMETER)
