"""Where batches may be posted to (spec 2.10): http at port 80 and https at port 443."""

from __future__ import annotations

from chalicelib.core import web_address
from chalicelib.core.settings import settings
from chalicelib.core.web_address import BadUrl


def fault(url: str, *, any_port: bool = False) -> str:
    """Return what is wrong with a target, empty if nothing is. Looks nothing up."""
    try:
        address = web_address.read(url)
    except BadUrl as error:
        return f"is not a valid URL: {error}"
    if any_port or settings().webhook_any_port:
        return ""
    usual = web_address.PORTS[address.scheme]
    return "" if address.port == usual else "must use port 80 (http) or 443 (https)"
