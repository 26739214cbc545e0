"""Write addresses and searches so that a search finds an address however either is typed.

The domain of a stored address has a line in A-labels, as it came over the wire, and one in
U-labels, as people read it. A search for a part of either finds it.
"""

import json
import re
import unicodedata
from collections.abc import Sequence

from chalicelib.core import domain_names
from infrastructure.local.mailbox.rows import Details

_MARKS = re.compile(r'[<>",\s]+')


def plain(text: str) -> str:
    """Return a text in lower case, with composed letters."""
    return text.lower() if text.isascii() else unicodedata.normalize("NFC", text.lower())


def lines_of(address: str) -> str:
    """Return the lines that an address is found by."""
    lowered = plain(address)
    if lowered.isascii() and "xn--" not in lowered:
        return lowered
    local, at, domain = lowered.rpartition("@")
    name = domain_names.spelling(domain)
    names = (domain, name, domain_names.in_u_labels(name))
    return "\n".join(dict.fromkeys(f"{local}{at}{each}" for each in names))


def searched_forms(text: str) -> list[str]:
    """Return the forms in which a part of an address, or a pattern of one, is looked for."""
    return list(dict.fromkeys((plain(text), domain_names.mapped(text))))


def address_line(addresses: str) -> str:
    """Return the line that addresses (JSON, see `Details`) are found by."""
    if addresses == "[]":
        return ""
    pairs = json.loads(addresses)
    return " ".join(f"{each['Name']} {each['Address']}".strip() for each in pairs).casefold()


def address_lines(details: Details) -> list[str]:
    """Return the lines of From, To, Cc, Bcc and Reply-To, each empty without an address."""
    addresses = (
        details.from_addresses,
        details.to_addresses,
        details.cc_addresses,
        details.bcc_addresses,
        details.reply_to_addresses,
    )
    return [address_line(each) for each in addresses]


def search_head(lines: Sequence[str], address_lines: Sequence[str]) -> str:
    """Return what the search text has before the body; `lines` are those of the row."""
    return "\n".join((*lines, *filter(None, address_lines), ""))


def without_marks(text: str) -> str:
    """Return addresses of a header, or a part of them, in the form of `address_line`.

    Brackets, quotes and commas are left out, so that names and addresses remain.
    """
    return _MARKS.sub(" ", text).strip().casefold()
