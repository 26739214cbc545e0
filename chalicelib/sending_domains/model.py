"""Describe a sending domain: its owner, checks, signing key, and who may use it (spec 2.5)."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final

from chalicelib.core import clock
from chalicelib.core.domain_names import is_within
from chalicelib.core.scope import Scope
from chalicelib.dkim.model import DkimKey

VALID: Final = "valid"
INVALID: Final = "invalid"
UNVERIFIED: Final = "unverified"
PENDING: Final = "pending"
BLOCKED: Final = "blocked"
CHECK_STATUSES: Final = (VALID, INVALID, UNVERIFIED, PENDING)
COMPLIANCE_STATUSES: Final = (VALID, BLOCKED)

SES_VERIFIED: Final = "verified"
SES_PENDING: Final = "pending"
SES_FAILED: Final = "failed"
SES_STATUSES: Final = (SES_VERIFIED, SES_PENDING, SES_FAILED)

#: The statuses that DNS records decide
DNS_CHECKS: Final = ("dkim_status", "cname_status", "mx_status")


@dataclass(frozen=True, slots=True)
class DomainStatus:
    """The results of a domain's checks; each status is one of spec 2.5.

    ``verification_mailbox`` is the mailbox that confirmed; until one has, it is the last one that
    was asked to.
    """

    ownership_verified: bool = False
    spf_status: str = UNVERIFIED
    dkim_status: str = UNVERIFIED
    cname_status: str = UNVERIFIED
    mx_status: str = UNVERIFIED
    abuse_at_status: str = UNVERIFIED
    postmaster_at_status: str = UNVERIFIED
    verification_mailbox_status: str = UNVERIFIED
    verification_mailbox: str = ""
    compliance_status: str = VALID


@dataclass(frozen=True, slots=True)
class MailedToken:
    """The token of the last verification mail to a mailbox: its SHA-256, and when it expires.

    ``local_part`` is that of the mailbox, unless its kind says it. Version 0.1.0 did not store
    it: for its tokens it is the domain's ``verification_mailbox`` (goes with 0.3.0).
    """

    digest: str
    expires: float
    local_part: str = ""


@dataclass(frozen=True, slots=True)
class SesStatus:
    """The state of the domain's identity in Amazon SES: verified, pending or failed.

    ``error`` says what is wrong. ``key`` is the fingerprint of the key that SES has, ``since``
    when it got it (seconds).
    """

    status: str
    error: str = ""
    key: str = ""
    since: float = 0.0


@dataclass(frozen=True, slots=True)
class SendingDomain:
    """One domain. ``created`` is seconds; ``subaccount_id`` is ``None`` for the primary account.

    ``unverified_since`` is when the domain lost its verification, or was created (seconds; 0: it is
    verified). ``check_ms`` is when its next check is due (0: never). ``tokens`` are the last mailed
    ones, by kind of mailbox. ``ses`` is ``None`` until mail leaves by Amazon SES. A default bounce
    domain stays the default while it takes no bounces; it is not used meanwhile. ``revision`` and
    ``parents`` belong to the store.
    """

    domain: str
    account_id: int
    created: float
    status: DomainStatus = field(default_factory=DomainStatus)
    dkim: DkimKey | None = None
    subaccount_id: int | None = None
    tracking_domain: str = ""
    shared_with_subaccounts: bool = False
    is_default_bounce_domain: bool = False
    delegated: bool = False
    tokens: dict[str, MailedToken] = field(default_factory=dict, repr=False)
    unverified_since: float = 0.0
    check_ms: int = 0
    ses: SesStatus | None = None
    revision: int = field(default=0, compare=False)
    parents: tuple[str, ...] = field(default=(), compare=False)

    @property
    def is_blocked(self) -> bool:
        """Tell whether the operator has blocked the name."""
        return self.status.compliance_status == BLOCKED

    @property
    def may_send(self) -> bool:
        """Tell whether mail may be sent from this domain."""
        return self.status.ownership_verified and not self.is_blocked

    @property
    def takes_bounces(self) -> bool:
        """Tell whether bounces can be sent to the domain (spec 2.5 rule 5)."""
        return VALID in (self.status.cname_status, self.status.mx_status)

    @property
    def may_take_bounces(self) -> bool:
        """Tell whether new mail may have the domain in its envelope sender."""
        return self.takes_bounces and not self.is_blocked

    @property
    def signing_key(self) -> DkimKey | None:
        """Return the key that signs mail, if its DNS record was verified and nothing blocks it."""
        return self.dkim if self.status.dkim_status == VALID and not self.is_blocked else None

    def belongs_to(self, scope: Scope) -> bool:
        """Tell whether the domain is the scope's own, so that it may be changed there."""
        return scope.account_id == self.account_id and scope.covers(self.subaccount_id)

    def readable_in(self, scope: Scope) -> bool:
        """Tell whether a reader in the scope sees the domain: its own, or one shared with it."""
        return self.belongs_to(scope) or self.usable_by(scope.account_id, scope.owner)

    def is_default_of(self, account_id: int, subaccount_id: int | None) -> bool:
        """Tell whether this is the default bounce domain of an owner; each has its own."""
        is_own = (account_id, subaccount_id or None) == (self.account_id, self.subaccount_id)
        return is_own and self.is_default_bounce_domain

    def is_default_in(self, scope: Scope) -> bool:
        """Tell whether this is the default bounce domain of an owner in the scope."""
        return self.belongs_to(scope) and self.is_default_bounce_domain

    def usable_by(self, account_id: int, subaccount_id: int | None) -> bool:
        """Tell whether this sender may use the domain."""
        if account_id != self.account_id:
            return False
        if (subaccount_id or None) == self.subaccount_id:
            return True
        return self.subaccount_id is None and self.shared_with_subaccounts


def with_status(domain: SendingDomain, **changes: str) -> SendingDomain:
    """Return the domain with some statuses changed; any valid check verifies ownership."""
    after = replace(domain, status=replace(domain.status, **changes))  # type: ignore[arg-type]
    status = replace(after.status, ownership_verified=_is_owner_proven(after))
    return replace(after, status=status)


def _is_owner_proven(domain: SendingDomain) -> bool:
    """Tell whether a check proves that the account controls the domain.

    A DKIM record proves it only at the domain or above it: anyone can publish one elsewhere.
    """
    status, key = domain.status, domain.dkim
    if status.dkim_status == VALID and key and is_within(domain.domain, key.signing_domain):
        return True
    return VALID in (
        status.cname_status,
        status.mx_status,
        status.abuse_at_status,
        status.postmaster_at_status,
        status.verification_mailbox_status,
    )


def shown_fields(domain: SendingDomain) -> dict[str, Any]:
    """Return the fields of a domain that the audit log tells about.

    ``mailed_links`` says until when the links work that were mailed to its mailboxes.
    """
    return {
        **asdict(domain.status),
        "tracking_domain": domain.tracking_domain,
        "dkim": shown_key(domain.dkim) if domain.dkim else None,
        "shared_with_subaccounts": domain.shared_with_subaccounts,
        "is_default_bounce_domain": domain.is_default_bounce_domain,
        "delegated": domain.delegated,
        "mailed_links": {
            kind: clock.iso_ms(int(mailed.expires * 1000)) for kind, mailed in domain.tokens.items()
        },
    }


def shown_key(key: DkimKey) -> dict[str, Any]:
    """Return everything of a key but its private half."""
    return {
        "public": key.public,
        "selector": key.selector,
        "signing_domain": key.signing_domain,
        "headers": key.headers,
    }
