"""Read the requests of ``/tracking-domains``: bodies, names, and the filters of the list."""

from __future__ import annotations

from dataclasses import dataclass

from chalicelib.core import domain_names
from chalicelib.core.errors import ApiError, bad_format, missing_field, restricted_tracking_domain
from chalicelib.core.fields import Body, boolean, whole_number
from chalicelib.core.query import Query, comma_list
from chalicelib.core.scope import PRIMARY
from chalicelib.tracking_domains.model import TrackingDomain


class NewTrackingDomain(Body):
    """The body of ``POST /tracking-domains``."""

    domain: str | None = None
    secure: bool | None = None


class TrackingDomainUpdate(Body):
    """The body of ``PUT /tracking-domains/{domain}``; fields left out stay as they are."""

    secure: bool | None = None
    default: bool | None = None


@dataclass(frozen=True, slots=True)
class TrackingDomainFilters:
    """The filters of the list. ``subaccounts`` are ids as text; an empty list is no filter."""

    only_default: bool
    subaccounts: list[str]

    def match(self, domain: TrackingDomain) -> bool:
        """Tell whether the list shows a domain."""
        owner = str(domain.subaccount_id or PRIMARY)
        return (domain.default or not self.only_default) and (
            not self.subaccounts or owner in self.subaccounts
        )


def read_filters(query: Query) -> TrackingDomainFilters:
    """Read ``default`` and ``subaccounts``; raises 400."""
    subaccounts = [whole_number("subaccounts", text) for text in comma_list(query, "subaccounts")]
    return TrackingDomainFilters(boolean(query, "default", False), subaccounts)


def read_name(text: str | None) -> str:
    """Return the canonical spelling of a new domain's name; raises 422, and 400 with code 7000."""
    if text is None:
        raise missing_field("domain is a required field")
    try:
        name = domain_names.canonical(text)
    except domain_names.BadName as error:
        raise bad_format(f"domain must be valid: '{text[:300]}': {error}") from None
    if domain_names.is_public_suffix(name):
        raise restricted(name)
    return name


def restricted(name: str) -> ApiError:
    """Return 400 with code 7000."""
    reason = "This domain cannot be used as a tracking domain"
    return restricted_tracking_domain(reason, param="domain", value=name)
