"""``POST /sending-domains/{domain}/verify``: what is asked for is checked and noted (spec 3, 4.4).

Checks against the DNS are made while the caller waits. The mailbox checks come in two steps: a
flag sends a mail with a link, a token from that link verifies. A token that does not fit changes
nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from chalicelib.core import clock
from chalicelib.core.addresses import is_address
from chalicelib.core.errors import Forbidden, bad_format, missing_field
from chalicelib.core.fields import Body
from chalicelib.core.scope import Scope
from chalicelib.sending_domains import mailboxes, store
from chalicelib.sending_domains.dns_checks import Outcome, check_cname, check_dkim, check_mx
from chalicelib.sending_domains.lookup import owned
from chalicelib.sending_domains.mail_domain import is_enterprise, mail_domain
from chalicelib.sending_domains.mailboxes import ABUSE, KINDS, NOMINATED, POSTMASTER
from chalicelib.sending_domains.model import SendingDomain, with_status
from chalicelib.sending_domains.schedule import scheduled

_TAKEN_LOCAL_PARTS = ("postmaster", "abuse")


class VerifyRequest(Body):
    """The body: which checks to make, and the tokens that were mailed."""

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
    def mailed(self) -> list[str]:
        """Return the mailbox checks that a mail is asked for."""
        asked = {
            NOMINATED: self.verification_mailbox_verify,
            POSTMASTER: self.postmaster_at_verify,
            ABUSE: self.abuse_at_verify,
        }
        return [kind for kind in KINDS if asked[kind] and self.token(kind) is None]


@dataclass(frozen=True, slots=True)
class DnsChecks:
    """The outcomes of checks against the DNS, by name: ``dkim``, ``cname``, ``mx``."""

    outcomes: dict[str, Outcome] = field(default_factory=dict)

    @property
    def answered(self) -> bool:
        """Tell whether the DNS answered every question."""
        return all(outcome.answered for outcome in self.outcomes.values())

    def applied_to(self, domain: SendingDomain, seen: SendingDomain, now: float) -> SendingDomain:
        """Return ``domain`` with the new statuses; ``seen`` is what the checks were made of."""
        statuses = {
            f"{name}_status": outcome.status_after(getattr(domain.status, f"{name}_status"))
            for name, outcome in self.outcomes.items()
            # Of a key that came meanwhile nothing is known.
            if name != "dkim" or domain.dkim == seen.dkim
        }
        return scheduled(with_status(domain, **statuses), now, answered=self.answered)


def verify(scope: Scope, name: str, body: VerifyRequest) -> tuple[SendingDomain, DnsChecks]:
    """Do what is asked for; return the domain as it then is, and what the DNS said."""
    domain = owned(scope, name)
    _check_availability(domain, body)
    local_part = _nominated(domain, body) if NOMINATED in body.mailed else ""
    for kind in KINDS:
        if (token := body.token(kind)) is not None:
            mailboxes.redeem(domain.domain, kind, token)
    for kind in body.mailed:
        mailboxes.send_token(domain.domain, kind, local_part=local_part)
    names = [n for n in ("dkim", "cname", "mx") if getattr(body, f"{n}_verify")]
    checks = check_dns(domain, names)
    if names:
        now = clock.now()
        store.change(domain.domain, lambda found: checks.applied_to(found, domain, now))
    return owned(scope, name), checks


def check_dns(domain: SendingDomain, names: list[str]) -> DnsChecks:
    """Make the checks that are named."""
    ask: dict[str, Callable[[], Outcome]] = {
        "dkim": lambda: (
            check_dkim(domain.dkim)
            if domain.dkim
            else Outcome(error=f"{domain.domain} has no DKIM key")
        ),
        "cname": lambda: check_cname(domain.domain, mail_domain(domain.account_id)),
        "mx": lambda: check_mx(domain.domain, mail_domain(domain.account_id)),
    }
    return DnsChecks({name: ask[name]() for name in names})


def _check_availability(domain: SendingDomain, body: VerifyRequest) -> None:
    mailbox = body.mailed or any(body.token(kind) is not None for kind in KINDS)
    if not mailbox and not body.mx_verify:
        return
    enterprise = is_enterprise(domain.account_id)
    if mailbox and enterprise:
        raise Forbidden("verification by mailbox is not available on Enterprise")
    if body.mx_verify and not enterprise:
        raise Forbidden("verification by MX is available on Enterprise only")


def _nominated(domain: SendingDomain, body: VerifyRequest) -> str:
    """Return the local part that mail is to go to; raises 1400 and 1300."""
    local_part = body.verification_mailbox
    if not local_part:
        raise missing_field("verification_mailbox is a required field")
    if local_part.lower() in _TAKEN_LOCAL_PARTS:
        raise bad_format(f"verification_mailbox may not be '{local_part}'")
    if not is_address(f"{local_part}@{domain.domain}"):
        raise bad_format("verification_mailbox is not the local part of an address")
    return local_part
