"""Register, list, change, verify and delete inbound domains."""

from __future__ import annotations

from dataclasses import replace

from chalicelib.core import audit, clock
from chalicelib.core.dynamo import retry_conflicts
from chalicelib.core.errors import ApiError, domain_in_use, resource_conflict, resource_not_found
from chalicelib.core.reading import read_config
from chalicelib.core.scope import Scope
from chalicelib.inbound_domains import store
from chalicelib.inbound_domains.model import InboundDomain
from chalicelib.inbound_domains.mx_check import check_mx
from chalicelib.inbound_domains.ownership import Obstacle, find_obstacle
from chalicelib.inbound_domains.request import (
    NewInboundDomain,
    RoutesBody,
    read_name,
    read_routes,
    restricted,
)
from chalicelib.sending_domains import store as sending_domains


def create(scope: Scope, body: NewInboundDomain) -> InboundDomain:
    """Store a new domain of the scope's owner; raises 422, 400 (7000, 7004) and 409 (1602).

    Its MX records are looked at afterwards: the local DNS answers for domains that are stored.
    """
    name, now_ms = read_name(body.domain), clock.now_ms()
    domain = InboundDomain(name, scope.account_id, now_ms, scope.owner, check_ms=now_ms)

    def attempt() -> None:
        former = _check_name(scope, name)
        # A check that makes a bounce domain of it at the same time finds it changed, and asks again
        sending_domain = sending_domains.get(name)
        also = [sending_domains.touching(sending_domain)] if sending_domain else []
        if not store.create(domain, also, former=former):
            raise _exists()

    retry_conflicts(attempt)
    with audit.bound(None):  # its line is that of the new domain
        return _check(scope, domain) or domain


def list_all(scope: Scope) -> list[InboundDomain]:
    """Return the domains in the scope, by name."""
    return sorted(store.in_scope(scope), key=lambda domain: domain.domain)


def get_owned(scope: Scope, name: str) -> InboundDomain:
    """Return a domain of the scope; raises 404 (1600)."""
    return _existing(store.find(scope, name), name)


def delete(scope: Scope, name: str) -> None:
    """Delete a domain; raises 404 (1600), and 409 (1602) if a relay webhook uses it."""

    def check(domain: InboundDomain) -> None:
        if domain.relay_webhook_id:
            text = (
                f"The relay webhook {domain.relay_webhook_id} uses the inbound domain: it must be "
                "deleted first"
            )
            raise resource_conflict(text)

    if not store.delete(scope, name, check):
        raise _not_found(name)


def set_routes(scope: Scope, name: str, body: RoutesBody) -> InboundDomain:
    """Replace the routes of a domain; raises 404 (1600) and 422."""
    routes = read_routes(body, get_owned(scope, name).domain)
    domain = store.change(scope, name, lambda before: replace(before, routes=routes))
    return _existing(domain, name)


def verify(scope: Scope, name: str) -> InboundDomain:
    """Look at the MX records of a domain and store what they are; raises 404 (1600)."""
    return _existing(_check(scope, get_owned(scope, name)), name)


def _check(scope: Scope, domain: InboundDomain) -> InboundDomain | None:
    """Look at the MX records of a domain; ``None`` if it was deleted meanwhile."""
    result, now_ms = check_mx(domain), clock.now_ms()
    return store.change(scope, domain.domain, lambda each: result.apply_to(each, now_ms))


def _check_name(scope: Scope, name: str) -> InboundDomain | None:
    """Refuse a name that the account may not have.

    Returns the record of an account whose name this account has proved to be its own.
    """
    present = store.get(name)
    if present and present.account_id == scope.account_id:
        raise _exists()
    sending_domain = sending_domains.get(name)
    obstacle = find_obstacle(name, scope.account_id, read_config)
    if obstacle is Obstacle.BLOCKED:
        raise restricted(name)
    if sending_domain and sending_domain.takes_bounces:
        raise resource_conflict("A verified sending domain with similar attributes exists")
    if obstacle is Obstacle.OTHER_OWNER:
        text = f"Another account has verified '{name}' or a domain above it as a sending domain"
        raise domain_in_use(text)
    if present and find_obstacle(name, present.account_id, read_config) is None:
        raise _exists()
    return present


def _existing(domain: InboundDomain | None, name: str) -> InboundDomain:
    if domain is None:
        raise _not_found(name)
    return domain


def _exists() -> ApiError:
    return resource_conflict("An inbound domain with similar attributes exists")


def _not_found(name: str) -> ApiError:
    return resource_not_found(f"Inbound domain '{name[:300]}' does not exist")
