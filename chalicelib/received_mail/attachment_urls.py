"""Sign the URLs of attachments, which work without an API key until they expire.

Who gets such a URL, such as the target of a relay webhook, can fetch one attachment and nothing
else.
"""

from __future__ import annotations

from typing import Final

from chalicelib.core import clock, signing
from chalicelib.core.errors import NotFound
from chalicelib.core.settings import settings

PATH: Final = "/api/v1/inbound-attachments"

_PURPOSE: Final = "received attachment"


def url_of(message_id: str, number: int, expires_ms: int) -> str:
    """Return the URL of an attachment of the message that has this ``relay_id``."""
    token = signing.to_token([message_id, number, expires_ms // 1000], _PURPOSE)
    return f"{settings().public_url}{PATH}/{token}"


def expiry_ms(received_ms: int) -> int:
    """Return until when a message of this time is kept, and the URLs of its attachments work."""
    return received_ms + settings().received_mail_retention * 1000


def read(token: str) -> tuple[str, int]:
    """Return the message id and the attachment's number of a URL.

    Raises 404 for a URL that is not signed here or has expired.
    """
    try:
        message_id, number, expires = signing.from_token(token, _PURPOSE)
    except signing.BadSignature:
        raise NotFound from None
    if clock.now() >= expires:
        raise NotFound
    return message_id, number
