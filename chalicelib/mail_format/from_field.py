"""Read the From mailbox of a message from its header fields."""

from __future__ import annotations

from collections.abc import Iterable

from chalicelib.core.addresses import Mailbox, is_address
from chalicelib.mail_format.address_list import read_addresses
from chalicelib.mail_format.encoded_words import readable
from chalicelib.mail_format.rfc822 import Field


def from_text(fields: Iterable[Field]) -> str:
    """Return the decoded From as it was written; it may be a template, or empty."""
    return ", ".join(map(readable, values_of(fields, "from")))


def from_mailbox(fields: Iterable[Field]) -> Mailbox:
    """Return the From mailbox; raises ``ValueError`` unless there is exactly one.

    A second mailbox could be anybody's, and a mail client may show that one as the author.
    """
    addresses = read_addresses(values_of(fields, "from"))
    if len(addresses) != 1 or not is_address(addresses[0][1]):
        raise ValueError("the From header does not hold exactly one valid address")
    name, email = addresses[0]
    return Mailbox(email, readable(name or ""))


def display_name(values: Iterable[str]) -> str:
    """Return the name in a From whose address may be anything, empty if it is not one mailbox."""
    addresses = read_addresses(values)
    return readable(addresses[0].name or "") if len(addresses) == 1 else ""


def values_of(fields: Iterable[Field], name: str) -> list[str]:
    """Return the unfolded values of all fields with a name, which is in lower case."""
    return [
        " ".join(raw.partition(b":")[2].decode("utf-8", "replace").split())
        for field_name, raw in fields
        if field_name == name
    ]
