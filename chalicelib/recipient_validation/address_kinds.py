"""Tell role accounts and disposable addresses from others."""

from __future__ import annotations

from functools import cache
from typing import Final

from chalicelib.recipient_validation.free_providers import is_free

#: Local parts that belong to a task and not to a person (RFC 2142, and common ones)
_ROLE_NAMES = (
    "abuse account accounting accounts admin admins administrator all billing careers "
    "compliance contact contactus customerservice customersupport dev developer developers "
    "devnull dns enquiries everyone feedback finance ftp help helpdesk hostmaster hr info "
    "inoc inquiries invoice invoices ispfeedback ispsupport it jobs legal list listserv mail "
    "mailer-daemon mailerdaemon maildaemon majordomo marketing media news newsletter no-reply "
    "noc noreply do-not-reply donotreply null office operations ops order orders phish "
    "phishing post postbox postmaster press privacy purchasing recruiting recruitment "
    "registrar reservations root sales security service shop spam staff subscribe support "
    "sysadmin team tech trouble undisclosed-recipients unsubscribe usenet uucp webmaster "
    "welcome www"
)
_ROLES: Final = frozenset(_ROLE_NAMES.split())


def is_role(local: str) -> bool:
    """Tell whether a local part is that of a role; what stands behind a plus does not count."""
    name = local.strip('"').lower().partition("+")[0]
    return name in _ROLES or name.startswith("owner-") or name.endswith("-request")


def is_disposable(domain: str) -> bool:
    """Tell whether a domain, in its one spelling, or one above it gives out throw-away mailboxes.

    The list is that of https://github.com/disposable-email-domains/disposable-email-domains.
    """
    if is_free(domain):
        return False
    blocklist = _blocklist()
    labels = domain.split(".")
    return any(".".join(labels[start:]) in blocklist for start in range(len(labels) - 1))


@cache
def _blocklist() -> frozenset[str]:
    # Imported here: it takes 10 ms and a megabyte, and few processes validate addresses
    import disposable_email_domains

    return frozenset(disposable_email_domains.blocklist)
