"""Describe a tracking domain: a customer's host name for this service in links and pixels."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from chalicelib.core.settings import settings

VALID: Final = "valid"
INVALID: Final = "invalid"
UNVERIFIED: Final = "unverified"
PENDING: Final = "pending"
BLOCKED: Final = "blocked"

HTTP_PORT: Final = 80
HTTPS_PORT: Final = 443


class Owner(NamedTuple):
    """The owner of a domain; ``subaccount_id`` is ``None`` for the primary account."""

    account_id: int
    subaccount_id: int | None

    def shares_with(self, account_id: int, subaccount_id: int | None) -> bool:
        """Tell whether a sender may use the owner's domains."""
        return account_id == self.account_id and self.subaccount_id in (None, subaccount_id or None)


@dataclass(frozen=True, slots=True)
class TrackingDomain:
    """One domain. ``created`` is seconds; ``subaccount_id`` is ``None`` for the primary account."""

    domain: str
    account_id: int
    created: float
    subaccount_id: int | None = None
    secure: bool = False
    default: bool = False
    cname_status: str = UNVERIFIED
    compliance_status: str = VALID
    revision: int = field(default=0, compare=False)

    @property
    def verified(self) -> bool:
        """Tell whether the last check found that the domain leads to this service."""
        return self.cname_status == VALID

    @property
    def is_blocked(self) -> bool:
        """Tell whether the operator has blocked its name."""
        return self.compliance_status == BLOCKED

    @property
    def is_in_service(self) -> bool:
        """Tell whether messages may have links with it."""
        return self.verified and not self.is_blocked

    @property
    def base_url(self) -> str:
        """Return the beginning of every link with it, without a slash at the end."""
        if self.secure:
            return f"https://{self.domain}"
        port = settings().tracking_port
        return f"http://{self.domain}" + (f":{port}" if port != HTTP_PORT else "")

    def usable_by(self, account_id: int, subaccount_id: int | None) -> bool:
        """Tell whether a sender may use it: it is the sender's own, or the primary account's."""
        return Owner(self.account_id, self.subaccount_id).shares_with(account_id, subaccount_id)


def cname_target() -> str:
    """Return the name that the CNAME records of tracking domains lead to."""
    return settings().tracking_target.format(system=settings().system_domain).lower()


def shown_fields(domain: TrackingDomain) -> dict[str, Any]:
    """Return the fields of a domain that the audit log tells about."""
    return {
        "secure": domain.secure,
        "default": domain.default,
        "cname_status": domain.cname_status,
        "compliance_status": domain.compliance_status,
    }
