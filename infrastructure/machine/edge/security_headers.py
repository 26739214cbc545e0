"""Give the headers by which browsers keep strangers out, for every answer of the HTTP ports."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from chalicelib.core.reply import SECURITY_HEADERS

#: Browsers come by TLS only, for a year (RFC 6797)
_STRICT_TRANSPORT: Final = {"Strict-Transport-Security": "max-age=31536000"}


def security_headers(scheme: str | None) -> Mapping[str, str]:
    """Return the headers of an answer to a request that came by ``scheme``."""
    return {**SECURITY_HEADERS, **(_STRICT_TRANSPORT if scheme == "https" else {})}
