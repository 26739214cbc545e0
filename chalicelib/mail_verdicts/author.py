"""Find the domain that DMARC is about: that of the only author in From (RFC 9989 4.5)."""

from __future__ import annotations

from typing import Final

from chalicelib.core.domain_names import BadName, canonical
from chalicelib.dkim.signed_message import SignedMessage
from chalicelib.mail_format.address_list import read_addresses

_LONGEST_FIELD: Final = 8_192


class NoAuthor(ValueError):
    """The message has no author, or several domains; the text says why."""


def author_domain(message: SignedMessage) -> str:
    """Return the domain of From in A-labels; raises :class:`NoAuthor`.

    Mail clients show one of several From fields, and not all the same one.
    """
    if message.is_too_large:
        raise NoAuthor("the header section is too large")
    fields = list(message.fields_with(b"from"))
    if len(fields) != 1:
        raise NoAuthor("there are several From fields" if fields else "there is no From field")
    value = fields[0].value
    if len(value) > _LONGEST_FIELD:
        raise NoAuthor("the From field is too long")
    text = " ".join(value.decode("utf-8", "replace").split())
    domains = {_domain(address.email) for address in read_addresses([text])}
    if len(domains) != 1:
        raise NoAuthor("the authors in From have several domains" if domains else "From is empty")
    return domains.pop()


def _domain(address: str) -> str:
    try:
        return canonical(address.rpartition("@")[2].removesuffix("."))
    except BadName:
        raise NoAuthor("an address in From has no domain name") from None
