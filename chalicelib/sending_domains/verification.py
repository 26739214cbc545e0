"""Verify a sending domain by DNS records and by tokens mailed to its mailboxes (spec 3, 4.4).

DNS records are checked within the request. A mailbox check takes two requests: the first mails a
link, the second sends the token from that link. A wrong token changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from chalicelib.core import clock, dns, references
from chalicelib.core.addresses import is_address
from chalicelib.core.errors import Forbidden, bad_format, missing_field
from chalicelib.core.scope import Scope
from chalicelib.sending_domains import mailboxes, store
from chalicelib.sending_domains.dns_checks import (
    Outcome,
    check_cname,
    check_dkim,
    check_mx,
    check_spf,
    is_delegated,
)
from chalicelib.sending_domains.lookup import get_owned, is_enterprise, mail_domain
from chalicelib.sending_domains.mailboxes import KINDS, NOMINATED
from chalicelib.sending_domains.model import SendingDomain, with_status
from chalicelib.sending_domains.request import VerifyRequest
from chalicelib.sending_domains.schedule import with_next_check
from chalicelib.sending_domains.spf import sender_addresses

#: The checks that make a domain a bounce domain
BOUNCE_CHECKS = ("cname", "mx")
_RESERVED_LOCAL_PARTS = ("postmaster", "abuse")


@dataclass(frozen=True, slots=True)
class DnsChecks:
    """The outcomes of checks against the DNS, by name: ``dkim``, ``cname``, ``mx``, ``spf``.

    ``delegated`` tells whether the domain is delegated to the service; ``None`` if that was not
    looked up.
    """

    outcomes: dict[str, Outcome] = field(default_factory=dict)
    delegated: bool | None = None

    @property
    def answered(self) -> bool:
        """Tell whether the DNS answered every check."""
        return all(outcome.answered for outcome in self.outcomes.values())

    def without_bounces(self) -> DnsChecks:
        """Return the checks that do not make the domain a bounce domain."""
        others = {n: each for n, each in self.outcomes.items() if n not in BOUNCE_CHECKS}
        return replace(self, outcomes=others)

    def apply_to(self, domain: SendingDomain, checked: SendingDomain, now: float) -> SendingDomain:
        """Return ``domain`` with the new statuses; ``checked`` is the domain as it was checked."""
        statuses = {
            f"{name}_status": outcome.status_after(getattr(domain.status, f"{name}_status"))
            for name, outcome in self.outcomes.items()
            # The outcome does not hold for a key that has replaced the checked key since then
            if name != "dkim" or domain.dkim == checked.dkim
        }
        after = with_status(domain, **statuses)
        if self.delegated is not None:
            after = replace(after, delegated=self.delegated)
        return with_next_check(after, now, answered=self.answered)


def verify(scope: Scope, name: str, body: VerifyRequest) -> tuple[SendingDomain, DnsChecks]:
    """Make the requested checks; return the domain after them, and the outcomes from the DNS.

    Raises 409 with code 1602 if they would make a bounce domain of an inbound domain.
    """
    domain = get_owned(scope, name)
    _check_availability(domain, body)
    if body.cname_verify or body.mx_verify:
        check_no_inbound_domain(domain)
    local_part = _nominated_local_part(domain, body) if NOMINATED in body.kinds_to_mail else ""
    for kind in KINDS:
        if (token := body.token(kind)) is not None:
            mailboxes.redeem(domain.domain, kind, token)
    for kind in body.kinds_to_mail:
        mailboxes.send_token(domain.domain, kind, local_part=local_part)
    names = [n for n in ("dkim", "cname", "mx") if getattr(body, f"{n}_verify")]
    checks = check_dns(domain, names)
    if names:
        store.change(domain.domain, lambda before: _checked(before, domain, checks))
    return get_owned(scope, name), checks


def begins_to_take_bounces(before: SendingDomain, after: SendingDomain) -> bool:
    """Tell whether a change makes a bounce domain of a sending domain."""
    return after.takes_bounces and not before.takes_bounces


def check_no_inbound_domain(domain: SendingDomain) -> None:
    """Raise 409 with code 1602 if the account has an inbound domain of this name."""
    references.check_unused(references.BOUNCE_DOMAIN, domain.account_id, domain.domain)


def _checked(before: SendingDomain, domain: SendingDomain, checks: DnsChecks) -> SendingDomain:
    after = checks.apply_to(before, domain, clock.now())
    if begins_to_take_bounces(before, after):
        check_no_inbound_domain(before)
    return after


def check_dns(domain: SendingDomain, names: list[str]) -> DnsChecks:
    """Make the checks with these names; with any of them, look at SPF and delegation as well."""
    if not names:
        return DnsChecks()
    checks: dict[str, Callable[[], Outcome]] = {
        "dkim": lambda: (
            check_dkim(domain.dkim)
            if domain.dkim
            else Outcome(error=f"{domain.domain} has no DKIM key")
        ),
        "cname": lambda: check_cname(domain.domain, mail_domain(domain.account_id)),
        "mx": lambda: check_mx(domain.domain, mail_domain(domain.account_id)),
    }
    outcomes = {name: checks[name]() for name in names}
    if spf_outcome := _check_spf(domain):
        outcomes["spf"] = spf_outcome
    return DnsChecks(outcomes, _look_up_delegation(domain))


def _check_spf(domain: SendingDomain) -> Outcome | None:
    """Check the SPF record, if it is known where the account's mail leaves from."""
    try:
        addresses = sender_addresses(domain.account_id)
    except dns.LookupFailed as error:
        return Outcome(error=str(error), answered=False)
    return check_spf(domain.domain, addresses) if addresses else None


def _look_up_delegation(domain: SendingDomain) -> bool | None:
    """Tell whether an enterprise domain is delegated to the service; ``None`` without an answer."""
    if not is_enterprise(domain.account_id):
        return False
    try:
        return is_delegated(domain.domain, mail_domain(domain.account_id))
    except dns.LookupFailed:
        return None


def _check_availability(domain: SendingDomain, body: VerifyRequest) -> None:
    mailbox = body.kinds_to_mail or any(body.token(kind) is not None for kind in KINDS)
    if not mailbox and not body.mx_verify:
        return
    enterprise = is_enterprise(domain.account_id)
    if mailbox and enterprise:
        raise Forbidden("verification by mailbox is not available on Enterprise")
    if body.mx_verify and not enterprise:
        raise Forbidden("verification by MX is available on Enterprise only")


def _nominated_local_part(domain: SendingDomain, body: VerifyRequest) -> str:
    """Return the local part of the mailbox that the request names; raises 1400 and 1300."""
    local_part = body.verification_mailbox
    if not local_part:
        raise missing_field("verification_mailbox is a required field")
    if local_part.lower() in _RESERVED_LOCAL_PARTS:
        raise bad_format(f"verification_mailbox may not be '{local_part}'")
    if not is_address(f"{local_part}@{domain.domain}"):
        raise bad_format("verification_mailbox is not the local part of an address")
    return local_part
