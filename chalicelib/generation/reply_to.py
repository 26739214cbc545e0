"""Make the Reply-To of each message of a transmission with ``options.reply_domain``.

Its address names the message. Its display name is that of the Reply-To that the content has, or
else that of the From, so that a mail client shows to whom an answer goes.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from chalicelib.core.addresses import Mailbox
from chalicelib.inbound_domains import lookup, reply_address
from chalicelib.mail_format.address_list import mailboxes_field, read_mailboxes
from chalicelib.transmissions.model import Transmission

# As long as a local part, so that the field is folded where it would be for one
_PLACE: Final = f"r.{'0' * 24}.{'0' * 4}.{'a' * 16}"


class ReplyTo:
    """The Reply-To of a transmission's messages, which are injected at ``injected_ms``.

    There is none without ``reply_domain``, nor if it is not (any more) an inbound domain of the
    sender: then the Reply-To of the content counts.
    """

    def __init__(self, transmission: Transmission, injected_ms: int) -> None:
        self._domain = _domain_in_service(transmission)
        self._injected_ms = injected_ms

    def __bool__(self) -> bool:
        return bool(self._domain)

    def field(self, message_id: str, name: str) -> bytes:
        """Return the header field of a message, empty if the service makes none."""
        if not self._domain:
            return b""
        local_part = reply_address.local_part(message_id, self._injected_ms)
        return _field(name, self._domain).replace(_PLACE.encode(), local_part.encode())


@lru_cache(maxsize=256)
def name_of(reply_to: str, sender: Mailbox) -> str:
    """Return the name of the first address in a Reply-To that has one, else that of the From."""
    return next((each.name for each in read_mailboxes(reply_to) if each.name), sender.name)


def _domain_in_service(transmission: Transmission) -> str:
    name = transmission.options.get("reply_domain")
    domain = lookup.registered(name) if name else None
    owner = transmission.account_id, transmission.subaccount_id
    if domain is None or (domain.account_id, domain.subaccount_id) != owner:
        return ""
    return domain.domain


@lru_cache(maxsize=256)
def _field(name: str, domain: str) -> bytes:
    """Return the field with a place for the local part: writing it takes longer than a replace."""
    return mailboxes_field("Reply-To", [Mailbox(f"{_PLACE}@{domain}", name)])
