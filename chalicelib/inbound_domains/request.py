"""Read the requests of ``/inbound-domains``: names and routes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Final

import pydantic

from chalicelib.core import domain_names
from chalicelib.core.addresses import domain_of, is_address
from chalicelib.core.errors import (
    ApiError,
    bad_format,
    invalid_combination,
    missing_field,
    restricted_domain,
)
from chalicelib.core.fields import Body
from chalicelib.core.settings import settings
from chalicelib.inbound_domains.model import Action, MailRoute
from chalicelib.tracking_domains.model import cname_target

MOST_ROUTES: Final = 100
#: Longest pattern of a route, in characters: a local part has at most 64 octets
LONGEST_PATTERN: Final = 64
_MOST_STARS = 8
_NO_LOCAL_PART = re.compile(r"[\s@\x00-\x1f\x7f]")


class NewInboundDomain(Body):
    """The body of ``POST /inbound-domains``."""

    domain: str | None = None


class RouteBody(Body):
    """One route in the body of ``PUT /inbound-domains/{domain}/routes``."""

    pattern: str
    action: Action = pydantic.Field(strict=False)
    forward_to: str | None = None


class RoutesBody(Body):
    """The body of ``PUT /inbound-domains/{domain}/routes``: the whole list, in its order."""

    routes: Annotated[list[RouteBody], pydantic.FailFast()]


def read_name(text: str | None) -> str:
    """Return the canonical spelling of a new domain's name; raises 422, and 400 with code 7000."""
    if text is None:
        raise missing_field("domain is a required field")
    try:
        name = domain_names.canonical(text)
    except domain_names.BadName as error:
        raise bad_format(f"domain must be valid: '{text[:300]}': {error}") from None
    if domain_names.is_public_suffix(name) or _is_of_provider(name) or _is_own(name):
        raise restricted(name)
    return name


def restricted(name: str) -> ApiError:
    """Return 400 with code 7000."""
    text = f"'{name}' cannot be used as an inbound domain here"
    return restricted_domain(text, param="domain", value=name)


def read_routes(body: RoutesBody, domain: str) -> tuple[MailRoute, ...]:
    """Return the routes of a body for a domain; raises 422."""
    if len(body.routes) > MOST_ROUTES:
        raise bad_format(f"routes has more than {MOST_ROUTES} entries", param="routes")
    routes = tuple(_route(place, each, domain) for place, each in enumerate(body.routes))
    _check_patterns_differ(routes)
    return routes


def _route(place: int, body: RouteBody, domain: str) -> MailRoute:
    name = f"routes[{place}]"
    _check_pattern(f"{name}.pattern", body.pattern)
    target, is_forward = body.forward_to or "", body.action is Action.FORWARD
    if is_forward and not target:
        raise missing_field(f"{name}.forward_to is required with the action forward")
    if target and not is_forward:
        raise invalid_combination(f"{name}.forward_to is for the action forward only")
    if is_forward:
        _check_target(f"{name}.forward_to", target, domain)
    return MailRoute(body.pattern, body.action, target)


def _check_pattern(name: str, pattern: str) -> None:
    if not pattern or len(pattern) > LONGEST_PATTERN:
        text = f"{name} must have 1 to {LONGEST_PATTERN} characters"
    elif _NO_LOCAL_PART.search(pattern):
        text = f"{name} is for the part of an address before its @: it has no @ and no spaces"
    elif pattern.count("*") > _MOST_STARS:
        text = f"{name} must have at most {_MOST_STARS} stars"
    else:
        return
    raise bad_format(text, param=name, value=pattern[:300])


def _check_target(name: str, address: str, domain: str) -> None:
    if not is_address(address):
        raise bad_format(f"{name} must be an address", param=name, value=address[:300])
    if domain_of(address) == domain:
        text = f"{name} leads back to {domain}"
        raise bad_format(text, param=name, value=address)


def _check_patterns_differ(routes: Sequence[MailRoute]) -> None:
    """Raise 422 if a route can never be chosen, as one before it has the same pattern."""
    seen: dict[str, int] = {}
    for place, route in enumerate(routes):
        first = seen.setdefault(route.pattern.lower(), place)
        if first != place:
            text = f"routes[{place}].pattern is the same as that of routes[{first}]"
            raise bad_format(text, param=f"routes[{place}].pattern", value=route.pattern)


def _is_of_provider(name: str) -> bool:
    providers = settings().restricted_domains.split(",")
    return any(domain_names.is_within(name, provider) for provider in providers if provider)


def _is_own(name: str) -> bool:
    """Tell whether a name is one of the service's own, or below one."""
    system = settings().system_domain.lower()
    if any(domain_names.is_within(name, own) for own in (system, cname_target())):
        return True
    before, _, after = settings().tenant_domain.format(account="\0", system=system).partition("\0")
    pattern = f"{re.escape(before.lower())}[0-9]+{re.escape(after.lower())}"
    return re.fullmatch(pattern, name) is not None
