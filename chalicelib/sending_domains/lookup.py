"""May this sender use this domain? The one question that acceptance and generation ask."""

from __future__ import annotations

from chalicelib.core.errors import ApiError
from chalicelib.sending_domains import store
from chalicelib.sending_domains.model import SendingDomain


def check_sending_domain(name: str, account_id: int, subaccount_id: int | None) -> SendingDomain:
    """Return the domain; raises 7001 if it is not set up for this sender or not verified."""
    domain = store.get(name)
    if domain is None or not domain.usable_by(account_id, subaccount_id):
        raise invalid_domain(f"Unconfigured Sending Domain <{name}>")
    if not domain.may_send:
        raise invalid_domain(f"Unverified Sending Domain <{name}>")
    return domain


def invalid_domain(description: str) -> ApiError:
    """Return 400 with code 7001 (spec 7)."""
    return ApiError(400, "Invalid domain", code="7001", description=description)
