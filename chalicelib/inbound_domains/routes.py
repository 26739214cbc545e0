"""Serve ``/inbound-domains``."""

from __future__ import annotations

from chalicelib.core.http import Reply, Request, Routes, ok
from chalicelib.inbound_domains import service
from chalicelib.inbound_domains.request import NewInboundDomain, RoutesBody
from chalicelib.inbound_domains.view import dns_record_view, domain_view, route_view

routes = Routes(__name__)

_PATH = "/api/v1/inbound-domains"
_DOMAIN = _PATH + "/{domain}"
_MANAGE = "inbound_domains/manage"


@routes.post(_PATH, grant=_MANAGE, waits=True)
def create_inbound_domain(request: Request) -> Reply:
    """Add an inbound domain to the primary account, or to the subaccount of the request."""
    body = NewInboundDomain.parse(request.json())
    return ok(domain_view(service.create(request.caller.scope, body)))


@routes.get(_PATH, grant=_MANAGE)
def list_inbound_domains(request: Request) -> Reply:
    """List the inbound domains, by name."""
    return ok([domain_view(domain) for domain in service.list_all(request.caller.scope)])


@routes.get(_DOMAIN, grant=_MANAGE)
def show_inbound_domain(request: Request, domain: str) -> Reply:
    """Show an inbound domain."""
    return ok(domain_view(service.get_owned(request.caller.scope, domain)))


@routes.delete(_DOMAIN, grant=_MANAGE)
def delete_inbound_domain(request: Request, domain: str) -> Reply:
    """Delete an inbound domain that no relay webhook uses."""
    service.delete(request.caller.scope, domain)
    return ok({})


@routes.get(_DOMAIN + "/dns-records", grant=_MANAGE)
def list_inbound_dns_records(request: Request, domain: str) -> Reply:
    """List the DNS record to publish for an inbound domain, with the result of its last check."""
    return ok([dns_record_view(service.get_owned(request.caller.scope, domain))])


@routes.post(_DOMAIN + "/verify", grant=_MANAGE, waits=True)
def verify_inbound_domain(request: Request, domain: str) -> Reply:
    """Look at the MX records of an inbound domain; return it as it is afterwards."""
    return ok(domain_view(service.verify(request.caller.scope, domain)))


@routes.get(_DOMAIN + "/routes", grant=_MANAGE)
def list_inbound_routes(request: Request, domain: str) -> Reply:
    """List the routes of an inbound domain, in their order."""
    owned = service.get_owned(request.caller.scope, domain)
    return ok([route_view(each) for each in owned.routes])


@routes.put(_DOMAIN + "/routes", grant=_MANAGE)
def replace_inbound_routes(request: Request, domain: str) -> Reply:
    """Replace the routes of an inbound domain by those of the body."""
    body = RoutesBody.parse(request.json())
    changed = service.set_routes(request.caller.scope, domain, body)
    return ok([route_view(each) for each in changed.routes])
