"""Check that a tracking domain leads to this service, by its CNAME and by a page fetched from it.

The page answers a challenge that only this service can answer, so another server that replies to
every request does not pass. Where TLS ends in front of this service, the fetch also proves that
the certificate is right.
"""

from __future__ import annotations

import secrets

from chalicelib.core import dns, signing
from chalicelib.core.errors import ApiError, endpoint_failed
from chalicelib.core.settings import settings
from chalicelib.tracking_domains.model import (
    INVALID,
    PENDING,
    UNVERIFIED,
    VALID,
    TrackingDomain,
    cname_target,
)

CHECK_PATH = "/tracking-check"
_PURPOSE = "tracking check"
_LONGEST_CHALLENGE = 64


def answer_to(challenge: str) -> str:
    """Return this service's answer to a challenge."""
    return signing.tag(challenge[:_LONGEST_CHALLENGE].encode(), _PURPOSE).hex()


def check_cname(domain: TrackingDomain) -> str:
    """Return the domain's new ``cname_status``.

    Raises 400 with code 1404 when the CNAME is right but another server answers at the domain, or
    none.
    """
    status = _cname_status(domain)
    if status == VALID and _must_fetch(domain):
        _fetch_page(domain)
    return status


def _cname_status(domain: TrackingDomain) -> str:
    """Look up the CNAME; a DNS failure takes no status away."""
    try:
        return VALID if cname_target() in dns.aliases(domain.domain) else INVALID
    except dns.LookupFailed:
        return PENDING if domain.cname_status == UNVERIFIED else domain.cname_status


def _must_fetch(domain: TrackingDomain) -> bool:
    mode = settings().tracking_fetch
    return mode == "all" or (mode == "plain" and not domain.secure)


def _fetch_page(domain: TrackingDomain) -> None:
    from chalicelib.core import web_fetch  # TLS takes 20 ms to import

    challenge = secrets.token_hex(16)
    try:
        page = web_fetch.get(f"{domain.base_url}{CHECK_PATH}/{challenge}")
    except web_fetch.FetchFailed as error:
        raise _unreachable(domain, str(error)) from error
    if (page.status, page.body.decode("latin-1")) != (200, answer_to(challenge)):
        raise _unreachable(domain, f"another server answered, with status {page.status}")


def _unreachable(domain: TrackingDomain, reason: str) -> ApiError:
    return endpoint_failed(f"Unable to reach {domain.base_url}: {reason}")
