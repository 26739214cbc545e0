"""``/sending-domains`` (spec 4.4), and the page behind the link in a verification mail."""

from __future__ import annotations

from collections.abc import Mapping

from chalicelib.core.errors import invalid_params
from chalicelib.core.fields import boolean
from chalicelib.core.http import PUBLIC, Reply, Request, Routes, empty, ok
from chalicelib.sending_domains import store, verification_page
from chalicelib.sending_domains.dkim_request import DkimBody
from chalicelib.sending_domains.further_keys import service as key_service
from chalicelib.sending_domains.further_keys import store as further_keys
from chalicelib.sending_domains.further_keys.service import NewKey
from chalicelib.sending_domains.lookup import owned
from chalicelib.sending_domains.mailboxes import PAGE_PATH
from chalicelib.sending_domains.model import CHECK_STATUSES, COMPLIANCE_STATUSES, SendingDomain
from chalicelib.sending_domains.registration import NewDomain, register
from chalicelib.sending_domains.update import DomainUpdate, delete, update
from chalicelib.sending_domains.verification import VerifyRequest, verify
from chalicelib.sending_domains.view import (
    dkim_key_view,
    dns_view,
    domain_view,
    further_key_view,
    status_view,
)

routes = Routes(__name__)

_GRANT = "sending_domains/manage"
_DOMAIN = "/api/v1/sending-domains/{domain}"
_KEYS = _DOMAIN + "/dkim-keys"
_FILTERS = {
    "dkim_status": CHECK_STATUSES,
    "cname_status": CHECK_STATUSES,
    "mx_status": CHECK_STATUSES,
    "abuse_at_status": CHECK_STATUSES,
    "postmaster_at_status": CHECK_STATUSES,
    "compliance_status": COMPLIANCE_STATUSES,
}


@routes.post("/api/v1/sending-domains", grant=_GRANT)
def create_domain(request: Request) -> Reply:
    """Register a domain; a key that was made for it is shown, without its private half."""
    made = register(request.caller.scope, NewDomain.parse(request.json()))
    results = {"message": "Successfully Created domain.", "domain": made.domain.domain}
    key = made.domain.dkim if made.has_new_key else None
    return ok(results | ({"dkim": dkim_key_view(key)} if key else {}))


@routes.get("/api/v1/sending-domains", grant=_GRANT)
def list_domains(request: Request) -> Reply:
    """List the domains in scope, by name; each query parameter narrows the list."""
    wanted = _wanted_statuses(request.query)
    for flag in ("ownership_verified", "is_default_bounce_domain"):
        if (value := boolean(request.query, flag)) is not None:
            wanted[flag] = value
    found = [each for each in store.in_scope(request.caller.scope) if _has(each, wanted)]
    found.sort(key=lambda each: each.domain)
    return ok([{"domain": each.domain} | domain_view(each) for each in found])


@routes.get(_DOMAIN, grant=_GRANT)
def show_domain(request: Request, domain: str) -> Reply:
    """Show a domain."""
    return ok(domain_view(owned(request.caller.scope, domain)))


@routes.put(_DOMAIN, grant=_GRANT)
def update_domain(request: Request, domain: str) -> Reply:
    """Change a domain."""
    changed = update(request.caller.scope, domain, DomainUpdate.parse(request.json()))
    return ok({"message": "Successfully Updated Domain.", "domain": changed.domain})


@routes.delete(_DOMAIN, grant=_GRANT)
def delete_domain(request: Request, domain: str) -> Reply:
    """Delete a domain and its keys; nothing can be sent from it any more."""
    delete(request.caller.scope, domain)
    return empty(204)


@routes.post(_DOMAIN + "/verify", grant=_GRANT)
def verify_domain(request: Request, domain: str) -> Reply:
    """Check the domain; return its statuses, and what the DNS said where it was asked."""
    body = VerifyRequest.parse(request.json())
    checked, checks = verify(request.caller.scope, domain, body)
    results = status_view(checked.status)
    return ok(results | ({"dns": dns_view(checks.outcomes)} if checks.outcomes else {}))


@routes.get(_KEYS, grant=_GRANT)
def list_keys(request: Request, domain: str) -> Reply:
    """List the further DKIM keys of a domain, by id."""
    found = further_keys.of_domain(owned(request.caller.scope, domain).domain)
    return ok([further_key_view(key) for key in found], total_count=len(found))


@routes.post(_KEYS, grant=_GRANT)
def create_key(request: Request, domain: str) -> Reply:
    """Add a DKIM key, given or made."""
    key = key_service.add(request.caller.scope, domain, NewKey.parse(request.json()))
    return ok(further_key_view(key))


@routes.get(_KEYS + "/{key_id}", grant=_GRANT)
def show_key(request: Request, domain: str, key_id: str) -> Reply:
    """Show a DKIM key, without its private half."""
    return ok(further_key_view(key_service.get(owned(request.caller.scope, domain), key_id)))


@routes.put(_KEYS + "/{key_id}", grant=_GRANT)
def change_key(request: Request, domain: str, key_id: str) -> Reply:
    """Change a DKIM key."""
    body = DkimBody.parse(request.json())
    return ok(further_key_view(key_service.change(request.caller.scope, domain, key_id, body)))


@routes.delete(_KEYS + "/{key_id}", grant=_GRANT)
def delete_key(request: Request, domain: str, key_id: str) -> Reply:
    """Delete a DKIM key."""
    key_service.delete(request.caller.scope, domain, key_id)
    return empty(204)


@routes.post(_KEYS + "/{key_id}/verify", grant=_GRANT)
def verify_key(request: Request, domain: str, key_id: str) -> Reply:
    """Look for a DKIM key's record in the DNS."""
    key, outcome = key_service.verify(owned(request.caller.scope, domain), key_id)
    return ok(further_key_view(key) | {"dns": dns_view({"dkim": outcome})})


@routes.get(PAGE_PATH + "/{token}", grant=PUBLIC)
def offer_verification(request: Request, token: str) -> Reply:
    """Show the page behind the link in a verification mail."""
    return verification_page.offer(token)


@routes.post(PAGE_PATH + "/{token}", grant=PUBLIC)
def confirm_verification(request: Request, token: str) -> Reply:
    """Do what the page's button says."""
    return verification_page.confirm(token)


def _wanted_statuses(query: Mapping[str, str]) -> dict[str, str | bool]:
    wanted: dict[str, str | bool] = {}
    for name, allowed in _FILTERS.items():
        if (value := query.get(name)) is None:
            continue
        if value not in allowed:
            raise invalid_params(f"{name} must be one of {', '.join(allowed)}")
        wanted[name] = value
    return wanted


def _has(domain: SendingDomain, wanted: Mapping[str, str | bool]) -> bool:
    return all(
        value
        == (
            domain.is_default_bounce_domain
            if name == "is_default_bounce_domain"
            else getattr(domain.status, name)
        )
        for name, value in wanted.items()
    )
