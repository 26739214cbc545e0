"""Read address lists in header fields, leniently or strictly, and write them strictly.

Each display name in such a field is encoded separately, because readers do not look for addresses
inside encoded words (RFC 2047 5). Domains are written as A-labels: not every host on the way takes
others in a header.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from email.utils import getaddresses

from chalicelib.core.addresses import Mailbox, in_a_labels, is_address, read_mailbox
from chalicelib.mail_format.encoded_words import readable
from chalicelib.mail_format.headers import Address, HeaderError, encode_addresses, encode_header

ADDRESS_FIELDS = frozenset({"from", "sender", "reply-to", "to", "cc", "bcc"})
"""Fields that hold a list of addresses, in lower case (RFC 5322 3.6.2, 3.6.3)."""

_LINE_END = re.compile(r"[\r\n]")


def read_addresses(values: Iterable[str]) -> list[Address]:
    """Return the mailboxes of unfolded lists.

    An unreadable mailbox has an invalid address; an unreadable list is one mailbox with an empty
    address.
    """
    try:
        mailboxes = getaddresses(list(values))
    except RecursionError:  # hundreds of nested comments or groups
        return [Address(None, "")]
    return [Address(name or None, email) for name, email in mailboxes]


def read_mailboxes(value: str) -> list[Mailbox]:
    """Return the mailboxes of a list that a sender wrote; none unless each of them is valid.

    A list of one may be in any form that ``read_mailbox`` reads.
    """
    if _LINE_END.search(value):  # reading ignores it, writing refuses it
        return []
    if mailbox := read_mailbox(value):
        return [mailbox]
    mailboxes = [Mailbox(email, readable(name or "")) for name, email in read_addresses([value])]
    is_good = all(is_address(each.email) and not _LINE_END.search(each.name) for each in mailboxes)
    return mailboxes if is_good else []


def mailboxes_field(name: str, mailboxes: Iterable[Mailbox]) -> bytes:
    """Return the field with its CRLF; raises HeaderError (RFC 5322 3.4, RFC 2047)."""
    return encode_addresses(name, [_address(each.name, each.email) for each in mailboxes])


def address_list_field(name: str, value: str) -> bytes:
    """Return the field with its CRLF; a value that is not a list is encoded as plain text.

    Raises HeaderError (RFC 5322 3.4, RFC 2047).
    """
    if not _LINE_END.search(value):
        try:
            return encode_addresses(name, [_address(*each) for each in read_addresses([value])])
        except HeaderError:
            pass
    return encode_header(name, value)


def _address(name: str | None, email: str) -> Address:
    return Address(name or None, in_a_labels(email) or email)
