"""Read the requests of ``/sending-domains``: bodies, and the filters of the list (spec 4.4)."""

from __future__ import annotations

from chalicelib.core.errors import bad_format, invalid_params
from chalicelib.core.fields import Body, boolean
from chalicelib.core.query import Query
from chalicelib.sending_domains.dkim_request import DkimBody
from chalicelib.sending_domains.mailboxes import ABUSE, KINDS, NOMINATED, POSTMASTER
from chalicelib.sending_domains.model import CHECK_STATUSES, COMPLIANCE_STATUSES

_STATUS_FILTERS = {
    "dkim_status": CHECK_STATUSES,
    "cname_status": CHECK_STATUSES,
    "mx_status": CHECK_STATUSES,
    "abuse_at_status": CHECK_STATUSES,
    "postmaster_at_status": CHECK_STATUSES,
    "compliance_status": COMPLIANCE_STATUSES,
}
_FLAG_FILTERS = ("ownership_verified", "is_default_bounce_domain")


class NewDomain(Body):
    """The body of ``POST /sending-domains``."""

    domain: str | None = None
    tracking_domain: str | None = None
    dkim: DkimBody | None = None
    generate_dkim: bool | None = None
    dkim_key_length: int | None = None
    shared_with_subaccounts: bool | None = None


class DomainUpdate(Body):
    """The body of ``PUT /sending-domains/{domain}``; fields left out stay as they are.

    An empty string or null removes the tracking domain.
    """

    tracking_domain: str | None = None
    dkim: DkimBody | None = None
    shared_with_subaccounts: bool | None = None
    is_default_bounce_domain: bool | None = None


class VerifyRequest(Body):
    """The body of ``POST .../verify``: the checks to make, and the tokens that were mailed."""

    dkim_verify: bool | None = None
    cname_verify: bool | None = None
    mx_verify: bool | None = None
    verification_mailbox_verify: bool | None = None
    postmaster_at_verify: bool | None = None
    abuse_at_verify: bool | None = None
    verification_mailbox: str | None = None
    verification_mailbox_token: str | None = None
    postmaster_at_token: str | None = None
    abuse_at_token: str | None = None

    def token(self, kind: str) -> str | None:
        """Return the token for a mailbox check."""
        return getattr(self, f"{kind}_token")

    @property
    def kinds_to_mail(self) -> list[str]:
        """Return the mailbox checks for which a mail is requested."""
        requested = {
            NOMINATED: self.verification_mailbox_verify,
            POSTMASTER: self.postmaster_at_verify,
            ABUSE: self.abuse_at_verify,
        }
        return [kind for kind in KINDS if requested[kind] and self.token(kind) is None]


def check_sharing(subaccount_id: int | None, shared: bool) -> None:
    """Refuse to share a domain that belongs to a subaccount (spec 2.5)."""
    if shared and subaccount_id is not None:
        raise bad_format("shared_with_subaccounts is for domains of the primary account only")


def domain_filters(query: Query) -> dict[str, str | bool]:
    """Return the value that each filter in the query requires; raises 400 for any other value."""
    filters: dict[str, str | bool] = {}
    for name, allowed in _STATUS_FILTERS.items():
        if (value := query.get(name)) is None:
            continue
        if value not in allowed:
            raise invalid_params(f"{name} must be one of {', '.join(allowed)}")
        filters[name] = value
    for name in _FLAG_FILTERS:
        if (flag := boolean(query, name)) is not None:
            filters[name] = flag
    return filters
