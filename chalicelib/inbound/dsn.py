"""Delivery status notifications in the standard form (RFC 3464, RFC 6533).

The part ``message/delivery-status`` counts wherever it stands: some hosts put it into a plain
``multipart/mixed``. It holds groups of fields, the first about the message and one for each
recipient.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from chalicelib.core.addresses import LONGEST, in_a_labels
from chalicelib.inbound.mime import Fields, Mail

TYPES = ("message/delivery-status", "message/global-delivery-status")

_MOST_GROUPS = 100
_BLANK_LINE = re.compile(rb"\n[ \t]*\n")
_ESCAPED = re.compile(r"\\x\{(10[0-9a-f]{4}|[0-9a-f]{2,5})\}", re.IGNORECASE)
_TYPE = re.compile(r"[a-z][\w.+-]{0,30}\s*;", re.IGNORECASE | re.ASCII)


@dataclass(frozen=True, slots=True)
class RecipientStatus:
    """What a notification says of one recipient; what it does not say is empty.

    ``action`` is ``failed``, ``delayed``, ``delivered``, ``relayed`` or ``expanded``; ``status``
    the enhanced status code (RFC 3463), ``diagnostic`` the reply of the host that decided.
    """

    recipients: tuple[str, ...]
    action: str
    status: str
    diagnostic: str


def statuses(mail: Mail) -> list[RecipientStatus]:
    """Return what the notification says of each recipient, nothing if it is none."""
    part = mail.part(*TYPES)
    if part is None:
        return []
    groups = _BLANK_LINE.split(part.content().strip(b"\n"), _MOST_GROUPS)[:_MOST_GROUPS]
    found = (_status(Fields(group)) for group in groups)
    return [status for status in found if status is not None]


def about(found: list[RecipientStatus], recipient: str) -> RecipientStatus | None:
    """Return what is said of ``recipient``; of a failed one if the recipient is not named.

    A message is to one recipient of ours, and somebody may have forwarded it to others.
    """
    ours = _spelled(recipient)
    named = [each for each in found if ours in each.recipients]
    failed = [each for each in named or found if each.action == "failed"]
    return next(iter(failed or named or found), None)


def _status(group: Fields) -> RecipientStatus | None:
    """Return the status of a group about a recipient; ``None`` for the group of the message."""
    names = (group.first("original-recipient"), group.first("final-recipient"))
    action = group.first("action").partition(" ")[0].lower()
    if action in ("fail", "failure"):  # as some write it
        action = "failed"
    if not action and not any(names):
        return None
    return RecipientStatus(
        tuple(_spelled(_value(name).strip("<>")) for name in names if name),
        action,
        group.first("status").partition(" ")[0],
        _value(group.first("diagnostic-code")),
    )


def _spelled(address: str) -> str:
    """Return an address in one spelling of all that it may have in a notification (RFC 6533 3)."""
    plain = _ESCAPED.sub(lambda found: chr(int(found[1], 16)), address).lower()
    return (in_a_labels(plain) if len(plain) <= LONGEST else None) or plain


def _value(typed: str) -> str:
    """Return the value of a field that begins with its type, as in ``smtp; 550 no such user``.

    Some leave the type out, and a reply may have a semicolon of its own.
    """
    kind = _TYPE.match(typed)
    return typed[kind.end() :].strip() if kind else typed
