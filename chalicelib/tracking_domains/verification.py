"""Does a tracking domain lead to this service? Its CNAME says so, and a page fetched through it.

The page answers a challenge that only this service can answer, so that a server which merely
replies does not pass. Where TLS ends before this service, the fetch also proves the certificate.
"""

from __future__ import annotations

import secrets
from dataclasses import replace

from chalicelib.core import dns, signing
from chalicelib.core.errors import ApiError, endpoint_failed
from chalicelib.core.settings import settings
from chalicelib.tracking_domains.model import INVALID, PENDING, UNVERIFIED, VALID, TrackingDomain
from chalicelib.tracking_domains.model import target as cname_target

CHECK_PATH = "/tracking-check"
_PURPOSE = "tracking check"
_LONGEST_CHALLENGE = 64


def answer_to(challenge: str) -> str:
    """Return what this service answers to a challenge."""
    return signing.tag(challenge[:_LONGEST_CHALLENGE].encode(), _PURPOSE).hex()


def verified(domain: TrackingDomain) -> TrackingDomain:
    """Return the domain with the status that its CNAME gives it.

    Raises 400 with code 1404 when the CNAME is right but no page of ours came through it.
    """
    domain = replace(domain, cname_status=_cname_status(domain))
    if domain.verified and _is_fetched(domain):
        _fetch(domain)
    return domain


def _cname_status(domain: TrackingDomain) -> str:
    try:
        return VALID if cname_target() in dns.aliases(domain.domain) else INVALID
    except dns.LookupFailed:
        return PENDING if domain.cname_status == UNVERIFIED else domain.cname_status


def _is_fetched(domain: TrackingDomain) -> bool:
    chosen = settings().tracking_fetch
    return chosen == "all" or (chosen == "plain" and not domain.secure)


def _fetch(domain: TrackingDomain) -> None:
    from chalicelib.core import web_fetch  # TLS takes 20 ms to import

    challenge = secrets.token_hex(16)
    try:
        found = web_fetch.get(f"{domain.base_url}{CHECK_PATH}/{challenge}")
    except web_fetch.FetchFailed as error:
        raise _unreachable(domain, str(error)) from error
    if (found.status, found.body.decode("latin-1")) != (200, answer_to(challenge)):
        raise _unreachable(domain, f"another server answered, with status {found.status}")


def _unreachable(domain: TrackingDomain, reason: str) -> ApiError:
    text = f"Unable to reach {domain.base_url}: {reason}"
    return endpoint_failed(text)
