"""Build and read envelope senders that identify the message of a bounce, with a proof (VERP).

Their local parts are signed (``core.message_addresses``) and begin with ``b.``.

The message carries the local part in a header as well: mailbox providers redact the addresses in
complaints (RFC 6590), but not a local part without a domain.
"""

from __future__ import annotations

from chalicelib.core.message_addresses import MessageAddresses

#: The header that holds the local part alone
HEADER = "X-SVC-Report-ID"

_addresses = MessageAddresses("b", "return path")


def local_part(message_id: str, injected_ms: int) -> str:
    """Return the local part of the envelope sender of a message, for every bounce domain.

    ``injected_ms`` is when the message was injected.
    """
    return _addresses.local_part(message_id, injected_ms)


def message_of(local_part: str) -> str | None:
    """Return the message id in a local part that :func:`local_part` built.

    ``None`` for any other text, and when the address has expired.
    """
    return _addresses.message_of(local_part)
