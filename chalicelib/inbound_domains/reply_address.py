"""Build and read the addresses that answers to a message go to (``options.reply_domain``).

Such an address is at an inbound domain and names the message, so that an answer is matched with it
whatever its headers say. Its local part is signed (``core.message_addresses``) and begins with
``r.``; whoever answers may add a tag behind a plus sign.
"""

from __future__ import annotations

from chalicelib.core.message_addresses import MessageAddresses

_addresses = MessageAddresses("r", "reply address")


def local_part(message_id: str, injected_ms: int) -> str:
    """Return the local part for a message that was injected at ``injected_ms``."""
    return _addresses.local_part(message_id, injected_ms)


def message_of(local_part: str) -> str | None:
    """Return the id of the message that mail to a local part answers.

    ``None`` for any other local part, and when the address has expired.
    """
    return _addresses.message_of(local_part.partition("+")[0])
