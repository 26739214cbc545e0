"""Read address lists in header fields leniently, and write them strictly.

Each display name in such a field is encoded separately, because readers do not look for addresses
inside encoded words (RFC 2047 5).
"""

from __future__ import annotations

from collections.abc import Iterable
from email.utils import getaddresses

from chalicelib.mail_format.headers import Address, HeaderError, encode_addresses, encode_header

ADDRESS_FIELDS = frozenset({"from", "sender", "reply-to", "to", "cc", "bcc"})
"""Fields that hold a list of addresses, in lower case (RFC 5322 3.6.2, 3.6.3)."""


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


def address_list_field(name: str, value: str) -> bytes:
    """Return the field with its CRLF; a value that is not a list is encoded as plain text.

    Raises HeaderError (RFC 5322 3.4, RFC 2047).
    """
    if "\r" not in value and "\n" not in value:  # reading ignores them, writing refuses them
        try:
            return encode_addresses(name, read_addresses([value]))
        except HeaderError:
            pass
    return encode_header(name, value)
