"""Copies of a message that came over SMTP: who gets one, and what their headers show.

The header section may be asked to send the message to more addresses than the envelope names:

======= =======================================================================================
cc      all readers see them in the Cc header
bcc     nobody sees them but themselves: their copy has a Bcc header that names them only
archive nobody sees them; they get what the first recipient of the envelope gets, down to the
        tracked links
======= =======================================================================================

Each address gets one copy, as what it is named first: recipient of the envelope, cc, bcc, archive.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from chalicelib.core.addresses import Mailbox
from chalicelib.mail_format import rfc822
from chalicelib.mail_format.address_list import read_addresses
from chalicelib.mail_format.headers import Address, encode_addresses
from chalicelib.mail_format.rfc822 import Field

Json = dict[str, Any]

CC: Final = "cc"
BCC: Final = "bcc"
ARCHIVE: Final = "archive"


@dataclass(frozen=True, slots=True)
class Copies:
    """Those who get a copy besides the recipients of the envelope."""

    cc: Sequence[Mailbox] = ()
    bcc: Sequence[Mailbox] = ()
    archive: Sequence[Mailbox] = ()


def recipients(envelope: Sequence[str], copies: Copies, tags: Sequence[str]) -> list[Json]:
    """Return all recipients in their stored form, those of the envelope first.

    A copy has its kind as ``rcpt_type``; an archive copy has in ``tracked_as`` the index and the
    address of the recipient whose links it has.
    """
    own: Json = {"tags": list(tags)} if tags else {}
    found: dict[str, Json] = {}
    for email in envelope:
        found.setdefault(email.lower(), {"email": email, **own})
    first: Json = {"index": 0, "email": envelope[0]}
    kinds: dict[str, tuple[Iterable[Mailbox], Json]] = {
        CC: (copies.cc, {}),
        BCC: (copies.bcc, {}),
        ARCHIVE: (copies.archive, {"tracked_as": first}),
    }
    for kind, (mailboxes, more) in kinds.items():
        for mailbox in mailboxes:
            record = {**_named(mailbox), "rcpt_type": kind, **more, **own}
            found.setdefault(mailbox.email.lower(), record)
    return list(found.values())


def with_visible_copies(fields: Sequence[Field], cc: Sequence[Mailbox]) -> list[Field]:
    """Return the fields that all copies share: ``cc`` is added to Cc, and there is no Bcc.

    Raises ``ValueError`` for a name that cannot stand in a header.
    """
    open_fields = rfc822.remove(fields, BCC)
    shown = set(_addresses(open_fields, CC))
    new = {mailbox.email.lower(): mailbox for mailbox in cc}
    missing = [_address(new[email]) for email in new if email not in shown]
    return _extended(open_fields, encode_addresses("Cc", missing)) if missing else open_fields


def with_own_bcc(fields: Sequence[Field], recipient: Mapping[str, Any]) -> list[Field]:
    """Return the fields of one recipient's copy: only a bcc copy has a Bcc header."""
    if recipient.get("rcpt_type") != BCC:
        return list(fields)
    mailbox = Mailbox(recipient["email"], recipient.get("name", ""))
    return rfc822.replace(fields, encode_addresses("Bcc", [_address(mailbox)]))


def _named(mailbox: Mailbox) -> Json:
    return {"email": mailbox.email} | ({"name": mailbox.name} if mailbox.name else {})


def _address(mailbox: Mailbox) -> Address:
    return Address(mailbox.name or None, mailbox.email)


def _addresses(fields: Iterable[Field], name: str) -> Iterator[str]:
    """Yield the addresses in the fields of a name, in lower case."""
    values = [raw.partition(b":")[2].decode("utf-8", "replace") for n, raw in fields if n == name]
    for _, email in read_addresses(" ".join(value.split()) for value in values):
        yield email.lower()


def _extended(fields: Sequence[Field], cc: bytes) -> list[Field]:
    """Return the fields with the addresses of a new Cc field behind those of the first old one."""
    old = next((raw for name, raw in fields if name == CC), b"").rstrip(b"\r\n\t ,")
    if not old or old.endswith(b":"):
        return rfc822.replace(fields, cc)
    addition = cc.partition(b":")[2].lstrip()
    at = next(number for number, (name, _) in enumerate(fields) if name == CC)
    return [*fields[:at], (CC, old + b",\r\n " + addition), *fields[at + 1 :]]
