"""Read delivery status notifications in the standard form (RFC 3464, RFC 6533).

The part ``message/delivery-status`` may stand anywhere, because some hosts put it into a plain
``multipart/mixed``. It holds groups of fields, the first about the message and one for each
recipient.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from chalicelib.core.addresses import LONGEST, spelling
from chalicelib.inbound import mime
from chalicelib.inbound.mime import Fields, Mail

TYPES = ("message/delivery-status", "message/global-delivery-status")

_MOST_GROUPS = 100
_BLANK_LINE = re.compile(rb"\n[ \t]*\n")
_ESCAPED = re.compile(r"\\x\{(10[0-9a-f]{4}|[0-9a-f]{2,5})\}", re.IGNORECASE)
_TYPE = re.compile(r"[a-z][\w.+-]{0,30}\s*;", re.IGNORECASE | re.ASCII)


@dataclass(frozen=True, slots=True)
class RecipientStatus:
    """The fields of a notification about one recipient; missing fields are empty.

    ``action`` is ``failed``, ``delayed``, ``delivered``, ``relayed`` or ``expanded``; ``status``
    the enhanced status code (RFC 3463), ``diagnostic`` the reply of the refusing host.
    """

    recipients: tuple[str, ...]
    action: str
    status: str
    diagnostic: str


def statuses(mail: Mail) -> list[RecipientStatus]:
    """Return the status of each recipient; nothing if the mail is no notification."""
    part = mail.part(*TYPES)
    if part is None:
        return []
    groups = _BLANK_LINE.split(part.content().strip(b"\n"), _MOST_GROUPS)[:_MOST_GROUPS]
    statuses = (_status(Fields(group)) for group in groups)
    return [status for status in statuses if status is not None]


def returned_statuses(mail: Mail, recipient: str) -> list[RecipientStatus]:
    """Return what a notification says of ``recipient`` that a host forwards as an attachment."""
    part = mail.part("message/rfc822")
    address = spelled(recipient)
    inner = statuses(mime.read(part.content())) if part else []
    return [status for status in inner if address in status.recipients]


def status_of(recipient: str, statuses: list[RecipientStatus]) -> RecipientStatus | None:
    """Return the status of ``recipient``, or that of a failed recipient if it has none.

    A message has one recipient, but may have been forwarded to others.
    """
    address = spelled(recipient)
    own = [status for status in statuses if address in status.recipients]
    failures = [status for status in own or statuses if status.action == "failed"]
    return next(iter(failures or own or statuses), None)


def _status(group: Fields) -> RecipientStatus | None:
    """Return the status of a group about a recipient; ``None`` for the group of the message."""
    names = (group.first("original-recipient"), group.first("final-recipient"))
    action = group.first("action").partition(" ")[0].lower()
    if action in ("fail", "failure", "error"):  # some hosts write it so
        action = "failed"
    if not action and not any(names):
        return None
    return RecipientStatus(
        tuple(spelled(value_of(name).strip("<>")) for name in names if name),
        action,
        group.first("status").partition(" ")[0],
        value_of(group.first("diagnostic-code")),
    )


def spelled(address: str) -> str:
    """Return an address in the one spelling that addresses are compared in (RFC 6533 3)."""
    plain = _ESCAPED.sub(lambda match: chr(int(match[1], 16)), address)
    return spelling(plain) if len(plain) <= LONGEST else plain


def value_of(typed: str) -> str:
    """Return the value of a field that begins with its type, as in ``smtp; 550 no such user``.

    Some hosts leave the type out, and a reply may hold a semicolon.
    """
    kind = _TYPE.match(typed)
    return typed[kind.end() :].strip() if kind else typed
