"""Serve ``/tracking-domains``, and the page that proves that a domain leads to this service."""

from __future__ import annotations

from chalicelib.core.http import PUBLIC, Reply, Request, Routes, empty, ok, raw
from chalicelib.tracking_domains import service
from chalicelib.tracking_domains.request import (
    NewTrackingDomain,
    TrackingDomainUpdate,
    read_filters,
)
from chalicelib.tracking_domains.verification import CHECK_PATH, answer_to
from chalicelib.tracking_domains.view import dns_record_view, domain_view, status_view

routes = Routes(__name__)

_PATH = "/api/v1/tracking-domains"
_DOMAIN = _PATH + "/{domain}"
_VIEW = "tracking_domains/view"
_MANAGE = "tracking_domains/manage"


@routes.post(_PATH, grant=_MANAGE)
def create_tracking_domain(request: Request) -> Reply:
    """Add a tracking domain to the primary account, or to the subaccount of the request."""
    body = NewTrackingDomain.parse(request.json())
    return ok({"domain": service.create(request.caller.scope, body).domain})


@routes.get(_PATH, grant=_VIEW)
def list_tracking_domains(request: Request) -> Reply:
    """List those in scope; ``default=true`` and ``subaccounts`` (a list of ids) narrow it."""
    domains = service.list_matching(request.caller.scope, read_filters(request.query))
    return ok([domain_view(domain) for domain in domains])


@routes.get(_DOMAIN, grant=_VIEW)
def show_tracking_domain(request: Request, domain: str) -> Reply:
    """Show one."""
    return ok(domain_view(service.get_owned(request.caller.scope, domain)))


@routes.get(_DOMAIN + "/dns-records", grant=_VIEW)
def list_tracking_dns_records(request: Request, domain: str) -> Reply:
    """List the DNS record to publish for a tracking domain, with the result of its last check."""
    return ok([dns_record_view(service.get_owned(request.caller.scope, domain))])


@routes.put(_DOMAIN, grant=_MANAGE)
def update_tracking_domain(request: Request, domain: str) -> Reply:
    """Change ``secure`` or ``default`` of a verified domain."""
    body = TrackingDomainUpdate.parse(request.json())
    return ok({"domain": service.update(request.caller.scope, domain, body).domain})


@routes.delete(_DOMAIN, grant=_MANAGE)
def delete_tracking_domain(request: Request, domain: str) -> Reply:
    """Delete one that no sending domain and no scheduled transmission names."""
    service.delete(request.caller.scope, domain)
    return empty(204)


@routes.post(_DOMAIN + "/verify", grant=_MANAGE, waits=True)
def verify_tracking_domain(request: Request, domain: str) -> Reply:
    """Look at the domain's CNAME, and at a page through it; return its status."""
    return ok(status_view(service.verify(request.caller.scope, domain)))


@routes.get(CHECK_PATH + "/{challenge}", grant=PUBLIC)
def answer_tracking_check(request: Request, challenge: str) -> Reply:
    """Answer a challenge, which proves that the domain leads to this service."""
    headers = {"Cache-Control": "no-store"}
    return raw(answer_to(challenge).encode(), "text/plain", headers=headers)
