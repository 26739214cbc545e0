"""Read the bare addresses of address fields from strangers, whatever else these hold."""

from __future__ import annotations

import re
from collections.abc import Iterable
from email.utils import getaddresses
from typing import Final

from chalicelib.mail_format.address_list import read_addresses
from chalicelib.mail_format.encoded_words import readable

MOST_ADDRESSES: Final = 1000
_MOST_CHARACTERS: Final = 64 * 1024
#: One mailbox in the form that nearly all have; the name has nothing that could be more
_ONE_MAILBOX = re.compile(
    r'(?:[^<>@,;:()"\\]*+|\s*+"[^"\\]*+"\s*+)<([^<>@,;:()"\\\s]++@[^<>@,;:()"\\\s]++)>\s*'
)
_BARE = re.compile(r'\s*+([^<>@,;:()"\\\s]++@[^<>@,;:()"\\\s]++)\s*')


def bare_addresses(values: Iterable[str]) -> tuple[str, ...]:
    """Return the addresses in unfolded values, in order: those of groups too, without comments."""
    addresses: list[str] = []
    for value in values:
        match = _ONE_MAILBOX.fullmatch(value) or _BARE.fullmatch(value)
        addresses += [match[1]] if match else _addresses(value[:_MOST_CHARACTERS])
    decoded = [readable(address) for address in addresses[:MOST_ADDRESSES]]
    return tuple(address for address in decoded if "@" in address)


def _addresses(value: str) -> list[str]:
    addresses = [each.email for each in read_addresses([value])]
    if any(addresses):
        return addresses
    # The library is strict about lists that programs of others write, such as an empty group
    try:
        return [email for _, email in getaddresses([value], strict=False)]
    except (RecursionError, TypeError):
        return []
