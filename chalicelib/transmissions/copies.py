"""Find the recipients of copies of an SMTP message, and the headers that each copy shows.

The API header may ask to send the message to more addresses than the envelope names:

======= =======================================================================================
cc      every copy shows them in the Cc header
bcc     no other copy shows them: their own copy has a Bcc header with their address only
archive no copy shows them; they get the same message as the first recipient of the envelope, with
        the same tracked links
======= =======================================================================================

Each mailbox gets one copy, however it is spelled. An address in several places counts for the first
of them: recipient of the envelope, cc, bcc, archive.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from chalicelib.core.addresses import Mailbox, spelling
from chalicelib.mail_format import rfc822
from chalicelib.mail_format.address_list import read_addresses
from chalicelib.mail_format.from_field import values_of
from chalicelib.mail_format.header_rules import NEVER_SENT
from chalicelib.mail_format.headers import Address, encode_addresses
from chalicelib.mail_format.rfc822 import Field
from chalicelib.recipient_lists.stored_form import StoredRecipient

CC: Final = "cc"
BCC: Final = "bcc"
ARCHIVE: Final = "archive"


@dataclass(frozen=True, slots=True)
class Copies:
    """The mailboxes that get a copy in addition to the recipients of the envelope."""

    cc: Sequence[Mailbox] = ()
    bcc: Sequence[Mailbox] = ()
    archive: Sequence[Mailbox] = ()


def recipients(
    envelope: Sequence[str], copies: Copies, tags: Sequence[str]
) -> list[StoredRecipient]:
    """Return all recipients in their stored form, those of the envelope first.

    The ``rcpt_type`` of a copy is its kind. ``tracked_as`` of an archive copy holds the index and
    the address of the recipient whose links it has.
    """
    by_address: dict[str, StoredRecipient] = {}
    for email in envelope:
        by_address.setdefault(spelling(email), {"email": email})
    kinds = {CC: copies.cc, BCC: copies.bcc, ARCHIVE: copies.archive}
    for kind, mailboxes in kinds.items():
        for mailbox in mailboxes:
            recipient = _copy(kind, mailbox, envelope[0])
            by_address.setdefault(spelling(mailbox.email), recipient)
    if tags:
        for recipient in by_address.values():
            recipient["tags"] = list(tags)
    return list(by_address.values())


def with_visible_copies(fields: Sequence[Field], cc: Sequence[Mailbox]) -> list[Field]:
    """Return the fields with ``cc`` added to Cc, which all copies show.

    Raises ``ValueError`` for a name that no header can hold.
    """
    present = set(_addresses(fields, CC))
    new = {spelling(mailbox.email): mailbox for mailbox in cc}
    missing = [_address(new[email]) for email in new if email not in present]
    return _with_cc(fields, encode_addresses("Cc", missing)) if missing else list(fields)


def of_copy(fields: Sequence[Field], recipient: StoredRecipient) -> list[Field]:
    """Return the fields of one recipient's copy: only a bcc copy has a Bcc header, its own.

    Other fields that no message leaves with are removed as well.
    """
    fields = rfc822.remove(fields, *NEVER_SENT)
    if recipient.get("rcpt_type") != BCC:
        return fields
    mailbox = Mailbox(recipient["email"], recipient.get("name", ""))
    return rfc822.append(fields, encode_addresses("Bcc", [_address(mailbox)]))


def _copy(kind: str, mailbox: Mailbox, first: str) -> StoredRecipient:
    recipient: StoredRecipient = {"email": mailbox.email}
    if mailbox.name:
        recipient["name"] = mailbox.name
    recipient["rcpt_type"] = kind
    if kind == ARCHIVE:
        recipient["tracked_as"] = {"index": 0, "email": first}
    return recipient


def _address(mailbox: Mailbox) -> Address:
    return Address(mailbox.name or None, mailbox.email)


def _addresses(fields: Iterable[Field], name: str) -> Iterator[str]:
    """Yield the addresses in the fields of a name, each in its one spelling."""
    for _, email in read_addresses(values_of(fields, name)):
        yield spelling(email)


def _with_cc(fields: Sequence[Field], cc: bytes) -> list[Field]:
    """Return the fields with the addresses of the Cc field ``cc`` appended to the first Cc."""
    old = next((raw for name, raw in fields if name == CC), b"").rstrip(b"\r\n\t ,")
    if not old or old.endswith(b":"):
        return rfc822.replace_field(fields, cc)
    addition = cc.partition(b":")[2].lstrip()
    at = next(number for number, (name, _) in enumerate(fields) if name == CC)
    return [*fields[:at], (CC, old + b",\r\n " + addition), *fields[at + 1 :]]
