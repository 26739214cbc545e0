"""Block domain names for the operator: nobody can register them or send with them (spec 2.5).

A block covers a name and all names below it, as sending, tracking and inbound domains. Registered
domains stop sending with the next chunk of messages, because every chunk reads its domains again.
Inbound domains store nothing about blocks: who receives mail reads the blocks themselves.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace

from chalicelib.accounts.store import accounts
from chalicelib.core import audit
from chalicelib.core.domain_names import BadName, canonical, is_public_suffix, is_within, parents
from chalicelib.core.scope import Scope
from chalicelib.domain_claims import store as claims
from chalicelib.inbound_domains import store as inbound_domains
from chalicelib.sending_domains import store as sending_domains
from chalicelib.sending_domains.model import BLOCKED, VALID, SendingDomain
from chalicelib.tracking_domains import store as tracking_domains
from chalicelib.tracking_domains.model import TrackingDomain


class NotBlocked(LookupError):
    """The name itself is not blocked."""


@dataclass(frozen=True, slots=True)
class AffectedDomains:
    """The registered domains at and below a name that was blocked or unblocked, by name."""

    sending: list[str]
    tracking: list[str]
    inbound: list[str]


def block(name: str) -> AffectedDomains:
    """Block a name; return the registered domains that can no longer be used.

    Raises ``domain_names.BadName`` if the text is not a domain name.
    """
    name = canonical(name)
    if is_public_suffix(name):
        raise BadName("names below it belong to many owners")
    blocked = _blocked_inbound(name)
    claims.block(name)
    return _update_statuses(name, blocked)


def unblock(name: str) -> AffectedDomains:
    """Undo :func:`block`; return the registered domains that can be used again.

    A domain that another block still covers stays blocked. Raises ``BadName``, and
    :class:`NotBlocked` if this very name is not blocked.
    """
    name = canonical(name)
    blocked = _blocked_inbound(name)
    if not claims.unblock(name):
        raise NotBlocked(name)
    return _update_statuses(name, blocked)


def _update_statuses(name: str, inbound: set[str]) -> AffectedDomains:
    """Give the domains at and below a name the status that the blocks demand.

    Returns those that had another status; ``inbound`` are the inbound domains that were blocked.
    """
    domains = AffectedDomains([], [], sorted(inbound ^ _blocked_inbound(name)))
    for sending_domain in list(sending_domains.within(name)):
        status = _status_of(sending_domain.domain)
        if status != sending_domain.status.compliance_status:
            _set_sending_status(sending_domain, status)
            domains.sending.append(sending_domain.domain)
    for tracking_domain in list(_tracking_domains_within(name)):
        status = _status_of(tracking_domain.domain)
        if status != tracking_domain.compliance_status:
            _set_tracking_status(tracking_domain, status)
            domains.tracking.append(tracking_domain.domain)
    domains.sending.sort()
    domains.tracking.sort()
    return domains


def _status_of(name: str) -> str:
    return BLOCKED if claims.is_blocked(name, parents(name)) else VALID


def _set_sending_status(domain: SendingDomain, status: str) -> None:
    def edit(before: SendingDomain) -> SendingDomain:
        return replace(before, status=replace(before.status, compliance_status=status))

    with _in_log_of(domain.account_id):
        sending_domains.change(domain.domain, edit)


def _set_tracking_status(domain: TrackingDomain, status: str) -> None:
    scope = Scope(domain.account_id, None)
    with _in_log_of(domain.account_id):
        tracking_domains.change(
            scope, domain.domain, lambda before: replace(before, compliance_status=status)
        )


def _blocked_inbound(name: str) -> set[str]:
    """Return the inbound domains at and below a name that a block covers; reads all accounts."""
    names = {
        domain.domain
        for account in accounts.all_accounts()
        for domain in inbound_domains.of_account(account.customer_id)
    }
    return {each for each in names if is_within(each, name) and _status_of(each) == BLOCKED}


def _in_log_of(account_id: int) -> AbstractContextManager[None]:
    """Tell the audit log of a domain's account about changes within."""
    author = audit.author()
    return audit.bound(replace(author, account_id=account_id) if author else None)


def _tracking_domains_within(name: str) -> Iterator[TrackingDomain]:
    """Yield the tracking domains at and below a name; reads those of all accounts."""
    for account in accounts.all_accounts():
        for domain in tracking_domains.in_scope(Scope(account.customer_id, None)):
            if is_within(domain.domain, name):
                yield domain
