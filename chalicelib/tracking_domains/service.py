"""Create, list, change, delete and verify tracking domains (spec 2.1)."""

from __future__ import annotations

from dataclasses import replace

from chalicelib.core import clock, domain_names, references
from chalicelib.core.errors import ApiError, bad_format, resource_conflict, resource_not_found
from chalicelib.core.scope import Scope
from chalicelib.domain_claims import store as claims
from chalicelib.tracking_domains import store
from chalicelib.tracking_domains.model import TrackingDomain
from chalicelib.tracking_domains.request import (
    NewTrackingDomain,
    TrackingDomainFilters,
    TrackingDomainUpdate,
    read_name,
    restricted,
)
from chalicelib.tracking_domains.verification import check_cname


def create(scope: Scope, body: NewTrackingDomain) -> TrackingDomain:
    """Store a new domain of the scope's owner; raises 422, 400 (7000) and 409 (1602)."""
    name = read_name(body.domain)
    if claims.is_blocked(name, domain_names.parents(name)):
        raise restricted(name)
    domain = TrackingDomain(
        name,
        scope.account_id,
        clock.now(),
        scope.owner,
        secure=bool(body.secure),
    )
    if not store.create(domain):
        raise resource_conflict("The tracking domain already exists")
    return domain


def list_matching(scope: Scope, filters: TrackingDomainFilters) -> list[TrackingDomain]:
    """Return the domains in the scope that pass every filter."""
    return [domain for domain in store.in_scope(scope) if filters.match(domain)]


def get_owned(scope: Scope, name: str) -> TrackingDomain:
    """Return a domain of the scope; raises 404 (1600)."""
    return _existing(store.find(scope, name), name)


def update(scope: Scope, name: str, body: TrackingDomainUpdate) -> TrackingDomain:
    """Change a verified domain; raises 404 (1600), and 422 (1300) if it cannot be used."""
    changes = body.model_dump(exclude_none=True)

    def edit(domain: TrackingDomain) -> TrackingDomain:
        if not domain.verified:
            raise bad_format(f"Tracking domain '{domain.domain}' unverified.")
        if domain.is_blocked and changes.get("default"):
            raise bad_format(f"Tracking domain '{domain.domain}' is blocked.")
        return replace(domain, **changes)

    return _existing(store.change(scope, name, edit), name)


def delete(scope: Scope, name: str) -> None:
    """Delete a domain; raises 404 (1600), and 409 (1602) if it is in use."""

    def check(domain: TrackingDomain) -> None:
        references.check_unused(references.TRACKING_DOMAIN, domain.account_id, domain.domain)

    if not store.delete(scope, name, check):
        raise _not_found(name)


def verify(scope: Scope, name: str) -> TrackingDomain:
    """Check a domain's CNAME and store its status; raises 404 (1600) and 400 (1404)."""
    cname_status = check_cname(get_owned(scope, name))

    def edit(domain: TrackingDomain) -> TrackingDomain:
        return replace(domain, cname_status=cname_status)

    return _existing(store.change(scope, name, edit), name)


def _existing(domain: TrackingDomain | None, name: str) -> TrackingDomain:
    if domain is None:
        raise _not_found(name)
    return domain


def _not_found(name: str) -> ApiError:
    return resource_not_found(f"Resource not found: {name[:300]}")
