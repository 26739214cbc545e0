"""``/tracking-domains``, and the page that proves that a name leads here."""

from __future__ import annotations

from dataclasses import replace

from chalicelib.core import clock, domain_names
from chalicelib.core.errors import (
    ApiError,
    bad_format,
    missing_field,
    resource_conflict,
    resource_not_found,
    restricted_tracking_domain,
)
from chalicelib.core.fields import Body, boolean, comma_list
from chalicelib.core.http import PUBLIC, Reply, Request, Routes, empty, ok, raw
from chalicelib.core.scope import PRIMARY
from chalicelib.tracking_domains import store
from chalicelib.tracking_domains.model import TrackingDomain
from chalicelib.tracking_domains.verification import CHECK_PATH, answer_to, verified

routes = Routes(__name__)


class NewTrackingDomain(Body):
    """The body of POST."""

    domain: str | None = None
    secure: bool | None = None


class TrackingDomainUpdate(Body):
    """The body of PUT."""

    secure: bool | None = None
    default: bool | None = None


@routes.post("/api/v1/tracking-domains", grant="tracking_domains/manage")
def create_tracking_domain(request: Request) -> Reply:
    """Add a tracking domain to the primary account, or to the subaccount of the request."""
    body = NewTrackingDomain.parse(request.json())
    if body.domain is None:
        raise missing_field("domain is a required field")
    scope = request.caller.scope
    name = _allowed_name(body.domain)
    domain = TrackingDomain(
        name, scope.account_id, clock.now(), scope.owner, secure=bool(body.secure)
    )
    if not store.create(domain):
        text = "The tracking domain already exists"
        raise resource_conflict(text)
    return ok({"domain": name})


@routes.get("/api/v1/tracking-domains", grant="tracking_domains/view")
def list_tracking_domains(request: Request) -> Reply:
    """List those in scope; ``default=true`` and ``subaccounts`` (a list of ids) narrow it."""
    only_default = boolean(request.query, "default", False)
    subaccounts = comma_list(request.query, "subaccounts")
    return ok(
        [
            domain.as_json()
            for domain in store.in_scope(request.caller.scope)
            if (domain.default or not only_default)
            and (not subaccounts or str(domain.subaccount_id or PRIMARY) in subaccounts)
        ]
    )


@routes.get("/api/v1/tracking-domains/{domain}", grant="tracking_domains/view")
def show_tracking_domain(request: Request, domain: str) -> Reply:
    """Show one."""
    return ok(_found(store.find(request.caller.scope, domain), domain).as_json())


@routes.put("/api/v1/tracking-domains/{domain}", grant="tracking_domains/manage")
def update_tracking_domain(request: Request, domain: str) -> Reply:
    """Change ``secure`` or ``default`` of a verified domain."""
    body = TrackingDomainUpdate.parse(request.json())
    changes = body.model_dump(exclude_none=True)

    def apply(found: TrackingDomain) -> TrackingDomain:
        if not found.verified:
            raise bad_format(f"Tracking domain '{found.domain}' unverified.")
        return replace(found, **changes)

    return ok({"domain": _found(store.change(request.caller.scope, domain, apply), domain).domain})


@routes.delete("/api/v1/tracking-domains/{domain}", grant="tracking_domains/manage")
def delete_tracking_domain(request: Request, domain: str) -> Reply:
    """Delete one; sending domains that name it fall back to the defaults."""
    if not store.delete(request.caller.scope, domain):
        raise _not_found(domain)
    return empty(204)


@routes.post("/api/v1/tracking-domains/{domain}/verify", grant="tracking_domains/manage")
def verify_tracking_domain(request: Request, domain: str) -> Reply:
    """Look at the domain's CNAME, and at a page through it; return its status."""
    scope = request.caller.scope
    checked = verified(_found(store.find(scope, domain), domain))

    def apply(found: TrackingDomain) -> TrackingDomain:
        return replace(found, cname_status=checked.cname_status)

    return ok(_found(store.change(scope, domain, apply), domain).status_json())


@routes.get(CHECK_PATH + "/{challenge}", grant=PUBLIC)
def answer_tracking_check(request: Request, challenge: str) -> Reply:
    """Prove to whoever verifies a tracking domain that it leads to this service."""
    headers = {"Cache-Control": "no-store"}
    return raw(answer_to(challenge).encode(), "text/plain", headers=headers)


def _allowed_name(text: str) -> str:
    try:
        name = domain_names.canonical(text)
    except domain_names.BadName as error:
        raise bad_format(f"domain must be valid: '{text[:300]}': {error}") from None
    if domain_names.is_public_suffix(name):
        shown = "This domain cannot be used as a tracking domain"
        raise restricted_tracking_domain(shown, param="domain", value=name)
    return name


def _found(domain: TrackingDomain | None, name: str) -> TrackingDomain:
    if domain is None:
        raise _not_found(name)
    return domain


def _not_found(name: str) -> ApiError:
    return resource_not_found(f"Resource not found: {name[:300]}")
