"""Serve what mail hosts require: of a sending domain, and of the addresses of an IP pool."""

from __future__ import annotations

from chalicelib.core.errors import bare_errors
from chalicelib.core.http import Reply, Request, Routes, ok
from chalicelib.sender_requirements import service
from chalicelib.sender_requirements.view import address_view, domain_view

routes = Routes(__name__)


@routes.get(
    "/api/v1/sending-domains/{domain}/requirements", grant="sending_domains/view", waits=True
)
def show_domain_requirements(request: Request, domain: str) -> Reply:
    """Check a domain by the rules of Gmail, Yahoo and Outlook.com for senders.

    What is unmet comes with its remedy and the DNS record to publish. Nothing is stored.
    """
    return ok(domain_view(service.of_domain(request.caller.scope, domain)))


@routes.get("/api/v1/ip-pools/{pool_id}/requirements", grant="ip_pools/view", waits=True)
@bare_errors()
def list_pool_requirements(request: Request, pool_id: str) -> Reply:
    """Check the addresses of a pool by the rules of large mail hosts: PTR record and EHLO name.

    For an account without sending IPs it checks the addresses of the service, if they are known.
    """
    return ok(list(map(address_view, service.of_pool(request.caller.scope, pool_id))))
