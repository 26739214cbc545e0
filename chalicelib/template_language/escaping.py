"""Escape printed values for markup and for links.

A NUL is dropped, as everywhere in the output: some readers end a text there.
"""

from __future__ import annotations

from urllib.parse import quote

_URL_ASCII = {code: quote(chr(code), safe="") for code in range(128)} | {0: ""}


def escape_html(text: str) -> str:
    """Replace the six characters that could start or end markup."""
    if text.isalnum():
        return text
    return (
        text.replace("&", "&amp;")
        .replace("<", "&lt;")
        .replace(">", "&gt;")
        .replace('"', "&quot;")
        .replace("'", "&#39;")
        .replace("/", "&#x2F;")
        .replace("\0", "")
    )


def encode_url(text: str) -> str:
    """Percent-encode text as UTF-8, except letters, digits and ``-._~`` (RFC 3986)."""
    if text.isascii():
        return text if text.isalnum() else text.translate(_URL_ASCII)
    return quote(text.replace("\0", ""), safe="", errors="replace")
