"""Lists of addresses in header fields: read as anybody may write them, written as all can read.

In such a field each display name is encoded on its own, since addresses are never looked for inside
encoded words (RFC 2047 5).
"""

from __future__ import annotations

from collections.abc import Iterable
from email.utils import getaddresses

from chalicelib.core.addresses import in_a_labels
from chalicelib.mail_format.headers import Address, HeaderError, encode_addresses, encode_header

ADDRESS_FIELDS = frozenset({"from", "sender", "reply-to", "to", "cc", "bcc"})
"""Fields that hold a list of addresses, in lower case (RFC 5322 3.6.2, 3.6.3)."""


def read_addresses(values: Iterable[str]) -> list[Address]:
    """Return the mailboxes of unfolded lists; where one is wanting its address is no address.

    A list that cannot be read is one mailbox without an address.
    """
    try:
        found = getaddresses(list(values))
    except RecursionError:  # hundreds of comments or groups in one another
        return [Address(None, "")]
    return [Address(name or None, email) for name, email in found]


def address_list_field(name: str, value: str) -> bytes:
    """Return the field with its CRLF; a value that is no list goes out as the text that it is.

    Domains leave in A-labels. Raises HeaderError (RFC 5322 3.4, RFC 2047).
    """
    if "\r" not in value and "\n" not in value:  # reading passes over them, writing refuses them
        try:
            return encode_addresses(name, [_in_a_labels(each) for each in read_addresses([value])])
        except HeaderError:
            pass
    return encode_header(name, value)


def _in_a_labels(address: Address) -> Address:
    return Address(address.name, in_a_labels(address.email) or address.email)
