"""Decide when the identity of a domain in Amazon SES is looked at, where mail leaves by SES."""

from __future__ import annotations

import hashlib

from chalicelib.core.settings import settings
from chalicelib.dkim.model import DkimKey
from chalicelib.sending_domains.model import SES_VERIFIED, SendingDomain

_EAGER_SECONDS = 3600.0
_EAGER_PAUSE = 60.0


def is_wanted() -> bool:
    """Tell whether sending domains are to be identities of SES."""
    return settings().transport == "ses" and settings().deliver


def fingerprint(key: DkimKey | None) -> str:
    """Return what tells a key from the domain's earlier ones; empty for no key."""
    if key is None:
        return ""
    return hashlib.sha256(f"{key.selector}:{key.public}".encode()).hexdigest()[:16]


def next_look(domain: SendingDomain, now: float) -> float | None:
    """Return when the identity is to be looked at (seconds); ``None`` for never.

    SES has a new domain and another key within a minute. What it has not verified is looked at
    every minute for an hour, and so is what it did not take.
    """
    if not is_wanted():
        return None
    ses = domain.ses
    if ses is None or (ses.key != fingerprint(domain.dkim) and not ses.error):
        return now
    if not ses.error and (ses.status == SES_VERIFIED or not domain.dkim):
        return now + settings().domain_recheck
    if now - ses.since < _EAGER_SECONDS:
        return now + _EAGER_PAUSE
    return now + settings().domain_recheck_soon
