"""Check what the service itself does for every sending domain: TLS and one-click unsubscribe."""

from __future__ import annotations

from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

from chalicelib.core.settings import settings
from chalicelib.sender_requirements.model import Requirement, met, undecided, unmet
from chalicelib.sender_requirements.rules import TLS, UNSUBSCRIBE

_TRANSPORTS: Final = {
    "mx": "every host that offers STARTTLS gets its mail over TLS",
    "ses": "Amazon SES uses TLS with every host that offers it",
}


def check_tls() -> Requirement:
    """Check that mail goes to mail hosts over TLS, as far as the service sends it itself."""
    if evidence := _TRANSPORTS.get(settings().transport):
        return met(TLS, evidence)
    text = "check that the smarthost uses TLS with the hosts that it delivers to"
    return undecided(TLS, "a smarthost delivers the mail", text)


def check_unsubscribe() -> Requirement:
    """Check that the URL in List-Unsubscribe is one that mail hosts use (RFC 8058 3.1: HTTPS)."""
    url = urlsplit(settings().public_url)
    if url.scheme == "https":
        evidence = "all mail that is not transactional has List-Unsubscribe-Post, signed"
        return met(UNSUBSCRIBE, evidence)
    evidence = f"the links of messages begin with {settings().public_url}"
    if _is_this_machine(url.hostname or ""):
        return undecided(UNSUBSCRIBE, evidence + ", which only this machine can reach")
    text = "serve the API with a certificate, and set PUBLIC_URL to its https address"
    return unmet(UNSUBSCRIBE, evidence, text)


def _is_this_machine(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
