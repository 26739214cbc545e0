"""How a printed value is made harmless where it stands: in markup, or inside a link."""

from __future__ import annotations

from urllib.parse import quote

_URL_ASCII = {code: quote(chr(code), safe="") for code in range(128)}


def escape_html(text: str) -> str:
    """Return text with the six characters replaced that could end or open markup."""
    if text.isalnum():
        return text
    return (
        text.replace("&", "&amp;")
        .replace("<", "&lt;")
        .replace(">", "&gt;")
        .replace('"', "&quot;")
        .replace("'", "&#39;")
        .replace("/", "&#x2F;")
    )


def encode_url(text: str) -> str:
    """Return text percent-encoded as UTF-8, all but letters, digits and ``-._~`` (RFC 3986)."""
    if text.isascii():
        return text if text.isalnum() else text.translate(_URL_ASCII)
    return quote(text, safe="", errors="replace")
