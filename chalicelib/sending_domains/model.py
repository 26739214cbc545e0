"""The sending domain record: who may send from it, and with which key it signs (spec 2.5)."""

from __future__ import annotations

from dataclasses import dataclass, field

DEFAULT_SIGNED_HEADERS = "from:to:subject:date"


@dataclass(frozen=True, slots=True)
class DkimKey:
    """A DKIM key pair; the private half is sealed (see ``core.sealing``)."""

    selector: str
    signing_domain: str
    public: str
    sealed_private: bytes
    headers: str = DEFAULT_SIGNED_HEADERS


@dataclass(frozen=True, slots=True)
class DomainStatus:
    """What is known of a domain's ownership and DNS; each status as in spec 2.5."""

    ownership_verified: bool = False
    spf_status: str = "unverified"
    dkim_status: str = "unverified"
    cname_status: str = "unverified"
    mx_status: str = "unverified"
    abuse_at_status: str = "unverified"
    postmaster_at_status: str = "unverified"
    verification_mailbox_status: str = "unverified"
    verification_mailbox: str = ""
    compliance_status: str = "valid"


@dataclass(frozen=True, slots=True)
class SendingDomain:
    """One domain. ``created`` is seconds; ``subaccount_id`` is ``None`` for the primary account."""

    domain: str
    account_id: int
    created: float
    status: DomainStatus = field(default_factory=DomainStatus)
    dkim: DkimKey | None = None
    subaccount_id: int | None = None
    tracking_domain: str = ""
    shared_with_subaccounts: bool = False
    is_default_bounce_domain: bool = False

    @property
    def may_send(self) -> bool:
        """Tell whether mail may be sent from this domain."""
        return self.status.ownership_verified and self.status.compliance_status == "valid"

    @property
    def signing_key(self) -> DkimKey | None:
        """Return the key that signs this domain's mail, if its DNS record was verified."""
        return self.dkim if self.status.dkim_status == "valid" else None

    def usable_by(self, account_id: int, subaccount_id: int | None) -> bool:
        """Tell whether this sender may use the domain."""
        if account_id != self.account_id:
            return False
        if (subaccount_id or None) == self.subaccount_id:
            return True
        return self.subaccount_id is None and self.shared_with_subaccounts
