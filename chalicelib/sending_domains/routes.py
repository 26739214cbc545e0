"""Serve ``/sending-domains`` (spec 4.4) and the page behind the link in a verification mail."""

from __future__ import annotations

from chalicelib.core.http import PUBLIC, Reply, Request, Routes, empty, ok
from chalicelib.sending_domains import service, verification_page
from chalicelib.sending_domains.dkim_request import DkimBody
from chalicelib.sending_domains.dns_records import dns_records
from chalicelib.sending_domains.further_keys import service as further_keys
from chalicelib.sending_domains.further_keys.request import NewKey
from chalicelib.sending_domains.lookup import get_owned, get_readable
from chalicelib.sending_domains.mailboxes import PAGE_PATH
from chalicelib.sending_domains.model import shown_key
from chalicelib.sending_domains.request import (
    DomainUpdate,
    NewDomain,
    VerifyRequest,
    domain_filters,
)
from chalicelib.sending_domains.verification import verify
from chalicelib.sending_domains.view import (
    dns_view,
    domain_view,
    further_key_view,
    status_view,
)

routes = Routes(__name__)

_VIEW = "sending_domains/view"
_MANAGE = "sending_domains/manage"
_DOMAIN = "/api/v1/sending-domains/{domain}"
_KEYS = _DOMAIN + "/dkim-keys"


@routes.post("/api/v1/sending-domains", grant=_MANAGE)
def create_domain(request: Request) -> Reply:
    """Register a domain; the response shows the public half of a key that was generated for it."""
    registration = service.register(request.caller.scope, NewDomain.parse(request.json()))
    domain = registration.domain
    results = {"message": "Successfully Created domain.", "domain": domain.domain}
    key = domain.dkim if registration.has_new_key else None
    return ok(results | ({"dkim": shown_key(key)} if key else {}))


@routes.get("/api/v1/sending-domains", grant=_VIEW)
def list_domains(request: Request) -> Reply:
    """List the domains, by name; each query parameter narrows the list.

    A subaccount also sees the domains that are shared with it, without their keys.
    """
    scope = request.caller.scope
    domains = service.list_matching(scope, domain_filters(request.query))
    return ok([{"domain": domain.domain} | domain_view(domain, scope) for domain in domains])


@routes.get(_DOMAIN, grant=_VIEW)
def show_domain(request: Request, domain: str) -> Reply:
    """Show a domain; a subaccount sees one that is shared with it without its key."""
    scope = request.caller.scope
    return ok(domain_view(get_readable(scope, domain), scope))


@routes.get(_DOMAIN + "/dns-records", grant=_VIEW)
def list_dns_records(request: Request, domain: str) -> Reply:
    """List the DNS records to publish for a domain, with the result of their last check."""
    return ok(list(dns_records(get_owned(request.caller.scope, domain))))


@routes.put(_DOMAIN, grant=_MANAGE, waits=True)
def update_domain(request: Request, domain: str) -> Reply:
    """Change a domain."""
    after = service.update(request.caller.scope, domain, DomainUpdate.parse(request.json()))
    return ok({"message": "Successfully Updated Domain.", "domain": after.domain})


@routes.delete(_DOMAIN, grant=_MANAGE)
def delete_domain(request: Request, domain: str) -> Reply:
    """Delete a domain and its keys; nothing can be sent from it any more.

    A domain that signs for an IP pool or is the return path of a scheduled transmission stays.
    """
    service.delete(request.caller.scope, domain)
    return empty(204)


@routes.post(_DOMAIN + "/verify", grant=_MANAGE, waits=True)
def verify_domain(request: Request, domain: str) -> Reply:
    """Check the domain; return its statuses and the DNS records that were found."""
    after, checks = verify(request.caller.scope, domain, VerifyRequest.parse(request.json()))
    dns = {"dns": dns_view(checks.outcomes)} if checks.outcomes else {}
    return ok(status_view(after.status) | dns)


@routes.get(_KEYS, grant=_VIEW)
def list_keys(request: Request, domain: str) -> Reply:
    """List the further DKIM keys of a domain, by id."""
    keys = further_keys.list_all(request.caller.scope, domain)
    return ok([further_key_view(key) for key in keys], total_count=len(keys))


@routes.post(_KEYS, grant=_MANAGE)
def create_key(request: Request, domain: str) -> Reply:
    """Add a DKIM key: your own, or one that the service generates."""
    key = further_keys.add(request.caller.scope, domain, NewKey.parse(request.json()))
    return ok(further_key_view(key))


@routes.get(_KEYS + "/{key_id}", grant=_VIEW)
def show_key(request: Request, domain: str, key_id: str) -> Reply:
    """Show a DKIM key, without its private half."""
    return ok(further_key_view(further_keys.get(request.caller.scope, domain, key_id)))


@routes.put(_KEYS + "/{key_id}", grant=_MANAGE)
def change_key(request: Request, domain: str, key_id: str) -> Reply:
    """Change a DKIM key."""
    body = DkimBody.parse(request.json())
    return ok(further_key_view(further_keys.change(request.caller.scope, domain, key_id, body)))


@routes.delete(_KEYS + "/{key_id}", grant=_MANAGE)
def delete_key(request: Request, domain: str, key_id: str) -> Reply:
    """Delete a DKIM key."""
    further_keys.delete(request.caller.scope, domain, key_id)
    return empty(204)


@routes.post(_KEYS + "/{key_id}/verify", grant=_MANAGE, waits=True)
def verify_key(request: Request, domain: str, key_id: str) -> Reply:
    """Look for a DKIM key's record in the DNS."""
    key, outcome = further_keys.verify(request.caller.scope, domain, key_id)
    return ok(further_key_view(key) | {"dns": dns_view({"dkim": outcome})})


@routes.get(PAGE_PATH + "/{token}", grant=PUBLIC)
def offer_verification(request: Request, token: str) -> Reply:
    """Show the page behind the link in a verification mail."""
    return verification_page.offer(token)


@routes.post(PAGE_PATH + "/{token}", grant=PUBLIC)
def confirm_verification(request: Request, token: str) -> Reply:
    """Verify the domain, when the button on the page is pressed."""
    return verification_page.confirm(token)
