"""The envelope sender (VERP): names the message that a bounce is about, and proves it is ours.

The local part is ``b.<message id>.<tag>``: 24 hex digits and the base32 form of a 10-byte HMAC, in
lower case throughout, because some mail hosts fold the case of local parts.
"""

from __future__ import annotations

import base64

from chalicelib.core import signing

_PURPOSE = "return path"


def address(message_id: str, bounce_domain: str) -> str:
    """Return the envelope sender of a message."""
    tag = base64.b32encode(signing.tag(message_id.encode(), _PURPOSE)).decode().lower()
    return f"b.{message_id}.{tag}@{bounce_domain}"


def message_of(local_part: str) -> str | None:
    """Return the message id in a local part that :func:`address` made, else ``None``."""
    marker, _, rest = local_part.lower().partition(".")
    message_id, _, tag = rest.partition(".")
    try:
        given, signed = base64.b32decode(tag.upper()), message_id.encode()
    except ValueError:
        return None
    genuine = marker == "b" and signing.is_valid(signed, given, _PURPOSE)
    return message_id if genuine else None
