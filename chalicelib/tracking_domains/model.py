"""The tracking domain record: a customer's name for this service in links and pixels."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from chalicelib.core.settings import settings

VALID: Final = "valid"
INVALID: Final = "invalid"
UNVERIFIED: Final = "unverified"
PENDING: Final = "pending"
BLOCKED: Final = "blocked"

_HTTP, _HTTPS = 80, 443


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
        """Tell whether the name is known to lead to this service."""
        return self.cname_status == VALID

    @property
    def is_in_service(self) -> bool:
        """Tell whether links may be made with it."""
        return self.verified and self.compliance_status == VALID

    @property
    def base_url(self) -> str:
        """Return the beginning of every link through it, without a slash at the end."""
        if self.secure:
            return f"https://{self.domain}"
        port = settings().tracking_port
        return f"http://{self.domain}" + (f":{port}" if port != _HTTP else "")

    def usable_by(self, account_id: int, subaccount_id: int | None) -> bool:
        """Tell whether this sender may name it: it is the sender's, or the primary account's."""
        return account_id == self.account_id and self.subaccount_id in (None, subaccount_id or None)

    def status_json(self) -> dict[str, Any]:
        """Return its status object."""
        return {
            "verified": self.verified,
            "cname_status": self.cname_status,
            "compliance_status": self.compliance_status,
        }

    def as_json(self) -> dict[str, Any]:
        """Return the tracking domain object."""
        shown = {
            "domain": self.domain,
            "port": _HTTPS if self.secure else _HTTP,
            "secure": self.secure,
            "default": self.default,
            "status": self.status_json(),
        }
        if self.subaccount_id is not None:
            shown["subaccount_id"] = self.subaccount_id
        return shown


def target() -> str:
    """Return the name that the CNAME records of tracking domains lead to."""
    return settings().tracking_target.format(system=settings().system_domain).lower()
