"""Find the MTA-STS policy in force for a domain (RFC 8461 3.3 and 5.1).

- The policy is fetched when the id in the DNS is another than that of the stored one, and once a
  day, so that its time starts anew.
- While no policy is announced, or it cannot be fetched, the stored one counts until it expires.
  Otherwise whoever can suppress a DNS answer could switch the policy off.
- A process looks a domain up once an hour, after a failure once in five minutes.
"""

from __future__ import annotations

from chalicelib.core import caches, clock, dns, web_fetch
from chalicelib.core.dns import LookupFailed
from chalicelib.core.tls_results import (
    STS_FETCH_ERROR,
    STS_INVALID,
    STS_UNTRUSTED,
)
from chalicelib.core.web_fetch import CertificateRefused, FetchFailed
from chalicelib.delivery.mta_sts import store
from chalicelib.delivery.mta_sts.policy import (
    InvalidPolicy,
    Policy,
    PolicyUnavailable,
    announced_id,
    parse,
)
from chalicelib.delivery.mta_sts.store import FetchedPolicy

_CACHE_SECONDS = 3_600.0
_FAILURE_CACHE_SECONDS = 300.0
_LEAST_CACHE_SECONDS = 60.0
_CACHE_ENTRIES = 50_000
_REFRESH_SECONDS = 86_400

_cache: dict[str, tuple[float, Policy | PolicyUnavailable | None]] = {}


class _Failed(Exception):
    """A policy is announced and ``unavailable``; ``None``: it is unknown whether one is."""

    def __init__(self, unavailable: PolicyUnavailable | None = None) -> None:
        super().__init__()
        self.unavailable = unavailable


def policy_of(domain: str) -> Policy | PolicyUnavailable | None:
    """Return the policy in force for a domain (in A-labels, lower case), or why there is none."""
    now = clock.now()
    until, policy = _cache.get(domain, (0.0, None))
    if now < until:
        return policy
    previous = store.policy_of(domain)
    lifetime, unavailable = _CACHE_SECONDS, None
    try:
        latest = _latest(domain, previous, now) or previous
    except _Failed as failure:
        latest, lifetime = previous, _FAILURE_CACHE_SECONDS
        unavailable = failure.unavailable
    policy = latest.policy if latest else unavailable
    if len(_cache) >= _CACHE_ENTRIES:
        _cache.clear()
    until = min(now + lifetime, latest.expires) if latest else now + lifetime
    # A policy whose age is zero must not cost a request for each message
    _cache[domain] = (max(until, now + _LEAST_CACHE_SECONDS), policy)
    return policy


@caches.register
def clear_cache() -> None:
    """Forget the policies that this process knows."""
    _cache.clear()


def _latest(domain: str, previous: FetchedPolicy | None, now: float) -> FetchedPolicy | None:
    """Return the policy that is announced, ``None`` if none is; raises :class:`_Failed`."""
    try:
        policy_id = announced_id(dns.texts(f"_mta-sts.{domain}"))
    except LookupFailed as error:
        raise _Failed from error
    if policy_id is None:
        return None
    if previous and previous.policy_id == policy_id and now < previous.fetched + _REFRESH_SECONDS:
        return previous
    fetched = FetchedPolicy(_fetch(domain), policy_id, int(now))
    store.put_policy(domain, fetched)
    return fetched


def _fetch(domain: str) -> Policy:
    """Fetch a policy; raises :class:`_Failed`.

    Redirects do not count (RFC 8461 3.3), nor does part of a policy: hosts may be missing in it.
    """
    try:
        response = web_fetch.get(f"https://mta-sts.{domain}/.well-known/mta-sts.txt")
    except CertificateRefused as error:
        raise _Failed(PolicyUnavailable(STS_UNTRUSTED)) from error
    except FetchFailed as error:
        raise _Failed(PolicyUnavailable(STS_FETCH_ERROR)) from error
    if response.status != 200 or not response.is_whole:
        raise _Failed(PolicyUnavailable(STS_FETCH_ERROR))
    try:
        if not _is_plain_text(response.headers.get("content-type", "")):
            raise InvalidPolicy("the policy is no plain text")
        return parse(response.body.decode("utf-8"))
    except (InvalidPolicy, UnicodeDecodeError) as error:
        raise _Failed(PolicyUnavailable(STS_INVALID)) from error


def _is_plain_text(content_type: str) -> bool:
    return content_type.partition(";")[0].strip().lower() == "text/plain"
