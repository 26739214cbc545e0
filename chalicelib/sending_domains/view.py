"""Build what the API shows of sending domains and their DKIM keys (spec 4.4)."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from chalicelib.core import clock
from chalicelib.core.scope import Scope
from chalicelib.sending_domains.dns_checks import Outcome
from chalicelib.sending_domains.further_keys.model import FurtherKey
from chalicelib.sending_domains.model import SES_PENDING, DomainStatus, SendingDomain, shown_key
from chalicelib.sending_domains.ses_identities.schedule import is_wanted


def domain_view(domain: SendingDomain, reader: Scope) -> dict[str, Any]:
    """Return the domain object without its name, as ``GET /sending-domains/{domain}`` does.

    A subaccount sees a domain that is shared with it without the key, and never as its default.
    """
    view: dict[str, Any] = {"status": status_view(domain.status)}
    if domain.tracking_domain:
        view["tracking_domain"] = domain.tracking_domain
    if domain.dkim and domain.belongs_to(reader):
        view["dkim"] = shown_key(domain.dkim)
    if domain.subaccount_id is None:
        view["shared_with_subaccounts"] = domain.shared_with_subaccounts
    else:
        view["subaccount_id"] = domain.subaccount_id
    view["is_default_bounce_domain"] = domain.is_default_in(reader)
    view["creation_time"] = clock.iso_offset(domain.created)
    if domain.delegated:
        view["delegated"] = True
    if domain.belongs_to(reader) and is_wanted():
        view["ses"] = _ses_view(domain)
    return view


def _ses_view(domain: SendingDomain) -> dict[str, Any]:
    """Return the state of the domain's identity in Amazon SES, which is made within a minute."""
    if domain.ses is None:
        return {"status": SES_PENDING}
    view = {"status": domain.ses.status}
    if domain.ses.error:
        view["error"] = domain.ses.error
    return view


def status_view(status: DomainStatus) -> dict[str, Any]:
    """Return the status object; it shows ``verification_mailbox`` once there is one."""
    view = asdict(status)
    if not status.verification_mailbox:
        del view["verification_mailbox"]
    return view


def further_key_view(further: FurtherKey) -> dict[str, Any]:
    """Return everything of a further key but its private half."""
    return {
        "id": further.id,
        **shown_key(further.key),
        "dkim_status": further.status,
        "creation_time": clock.iso_offset(further.created),
    }


def dns_view(outcomes: dict[str, Outcome]) -> dict[str, Any]:
    """Return the ``dns`` object: the records found by each check, and what is wrong with them."""
    view: dict[str, Any] = {}
    for name, outcome in outcomes.items():
        view[f"{name}_record"] = outcome.record
        if outcome.error:
            view[f"{name}_error"] = outcome.error
    return view
