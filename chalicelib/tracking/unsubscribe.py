"""Build the headers with which a mail client offers to unsubscribe (RFC 2369, RFC 8058).

``List-Unsubscribe`` names a URL, to which the client posts ``List-Unsubscribe=One-Click``, and an
address. A GET of the URL shows a page with a button, so a machine that only follows links
unsubscribes nobody.

The address is ``u.<message id>.<tag>@<bounce domain>``, all lower case because some hosts change
the case of local parts; the tag is the base32 form of a 10-byte HMAC.
"""

from __future__ import annotations

from chalicelib.core import signing
from chalicelib.core.settings import settings
from chalicelib.tracking.model import LIST_UNSUBSCRIBE
from chalicelib.tracking.tokens import MessageTokens

#: The headers that the service writes; they replace the sender's own
NAMES = ("List-Unsubscribe", "List-Unsubscribe-Post")
ONE_CLICK = "List-Unsubscribe=One-Click"

_PURPOSE = "unsubscribe address"


def unsubscribe_headers(
    issuer: MessageTokens, message_id: str, bounce_domain: str
) -> list[tuple[str, str]]:
    """Return name and value of a message's headers; transactional mail has none."""
    base = settings().public_url.rstrip("/")
    url = f"{base}/{LIST_UNSUBSCRIBE}/{issuer.token(LIST_UNSUBSCRIBE)}"
    mailbox = address(message_id, bounce_domain)
    return [
        (NAMES[0], f"<{url}>, <mailto:{mailbox}?subject=unsubscribe>"),
        (NAMES[1], ONE_CLICK),
    ]


def address(message_id: str, bounce_domain: str) -> str:
    """Return the address that unsubscribes the recipient of a message by mail."""
    return f"u.{message_id}.{signing.tag_text(message_id.encode(), _PURPOSE)}@{bounce_domain}"


def message_of(local_part: str) -> str | None:
    """Return the message id in a local part that :func:`address` made, else ``None``."""
    marker, _, rest = local_part.lower().partition(".")
    message_id, _, tag = rest.partition(".")
    try:
        signature, text = signing.tag_of_text(tag), message_id.encode()
    except ValueError:
        return None
    genuine = marker == "u" and signing.is_valid(text, signature, _PURPOSE)
    return message_id if genuine else None
